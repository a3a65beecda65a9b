"""What most tests of commands run on: a field, and a sky model of it (the fixtures `kat7` and `sky_file`)."""

import math

CENTRE = (math.radians(53.125), math.radians(-27.8))

MODEL = """# (Name, Type, Ra, Dec, I, Q, U, V, ReferenceFrequency='1.4e9', SpectralIndex='[]', MajorAxis, MinorAxis, Orientation) = format
a, POINT, 03:32:30.0, -27.48.00, 2.0, 0, 0, 0, , [], , ,
b, POINT, 03:33:00.0, -27.53.00, 1.0, 0, 0, 0, , [], , ,
c, GAUSSIAN, 03:32:00.0, -27.45.00, 0.5, 0, 0, 0, , [-0.7], 30, 20, 45
"""  # noqa: E501
