"""Weights that are to be multiplied are looked for before anything is written."""

import pytest

import rimetree as rt
from rimetree.cli.errors import Failed
from rimetree.cli.options.asked_rows import ChosenRows
from rimetree.cli.runs.weights import require_spectra


def test_windows_without_weight_spectrum_are_refused(tmp_path):
    """Data had been corrected, and an error came with the weights; what it left behind had to be removed by hand."""
    path, bands = str(tmp_path / "a.ms"), [rt.ms.Band.regular(hz, 4e6, 4) for hz in (1.3e9, 1.4e9)]
    how = {"phase_centre_rad": (0.9, -0.5), "duration_s": 20.0, "integration_s": 10.0, "bands": bands}
    rt.ms.create(path, "kat-7", **how, weight_spectrum=True)
    summary = rt.ms.inspect(path, scan_cells=False)
    assert [one["weight_column"] for one in summary["groups"]] == ["WEIGHT_SPECTRUM"] * 2
    require_spectra(path, ChosenRows(None, None), summary)
    summary["groups"][1]["weight_column"] = "WEIGHT"  # as where the column holds nothing in the rows of a window
    require_spectra(path, ChosenRows((0,), None), summary)
    for windows in (None, (0, 1)):
        with pytest.raises(Failed, match="WEIGHT_SPECTRUM of field 0, window 1 holds no values, which --weights"):
            require_spectra(path, ChosenRows(windows, None), summary)
