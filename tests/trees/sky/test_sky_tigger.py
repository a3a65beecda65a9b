"""Tigger models, as HTML (never evaluated) and as text tables."""

import math

import pytest

from rimetree import sky
from rimetree.sky import SkyModelError, UnsupportedError

ARCSEC = math.pi / 648000

FLUX = (
    "<TD mdltype=PolarizationWithRM >"
    '<A mdltype=float mdlval="2.5"><A>I:2.5</A> </A> <A mdltype=int mdlval="0"><A>Q:0</A> </A> '
    '<A mdltype=float mdlval="-0.25"><A>U:-0.25</A> </A> <A mdltype=float mdlval="1e-3"><A>V:0.001</A> </A> '
    '<A mdltype=float mdlval="12.0"><A>rm:</A> </A> <A mdltype=float mdlval="1400000000.0"><A>freq0:</A> </A> </TD> '
)
SPECTRUM = (
    '<TD mdltype=SpectralIndex mdlattr="spectrum" ><A>spectrum:</A> <A mdltype=float mdlval="-0.7"><A>spi:</A> </A> '
    '<A mdltype=float mdlval="1400000000.0"><A>freq0:1.4e9</A> </A> </TD> '
)
CURVED = (
    '<TD mdltype=SpectralIndex mdlattr="spectrum" ><A>spectrum:</A> <A mdltype=list ><A>spi:</A> '
    '<A mdltype=float mdlval="-0.7"><A>0:-0.7</A> </A> <A mdltype=float mdlval="0.2"><A>1:0.2</A> </A> </A> '
    '<A mdltype=float mdlval="1400000000.0"><A>freq0:1.4e9</A> </A> </TD> '
)
SHAPE = (
    '<TD mdltype=Gaussian mdlattr="shape" ><A>shape:</A> <A mdltype=float mdlval="2e-05"><A>ex:</A> </A> '
    '<A mdltype=float mdlval="1e-05"><A>ey:</A> </A> <A mdltype=float mdlval="0.5"><A>pa:</A> </A> </TD> '
)
TAGS = (
    '<TD mdltype=bool mdlattr="dft" mdlval="True"><A>dft:True</A> </TD> '
    '<TD mdltype=str mdlattr="cluster" mdlval="\'C1\'"><A>cluster:C1</A> </TD> '
    '<TD mdltype=tuple mdlattr="label" ><A>label:</A> <A mdltype=float mdlval="1.0"><A>0:1.0</A> </A> </TD> '
)


def source(name="'A0'", flux=FLUX, rest=SPECTRUM + SHAPE + TAGS):
    return (
        f'<TR mdltype=Source ><TD mdltype=str mdlval="{name}"><A>name</A> </TD> <TD mdltype=Position >'
        '<A mdltype=float mdlval="1.25"><A>ra:1.25</A> </A> <A mdltype=float mdlval="-0.5"><A>dec:</A> </A> '
        '<A mdltype=float mdlattr="ra_err" mdlval="0.001"><A>ra_err:</A> </A> </TD> '
        f"{flux}{rest}</TR>\n"
    )


def html(*sources):
    return (
        "<HTML><BODY mdltype=SkyModel>\n<H1>Source list</H1>\n<TABLE BORDER=1>\n"
        + "".join(sources)
        + '</TABLE>\n<TR mdltype=PlotStyle mdlattr="x" ><TD mdltype=int mdlattr="apply" mdlval="1"></TD></TR>\n'
        '<A mdltype=float mdlattr="ra0" mdlval="1.2"><A>Field centre</A> </A>\n</BODY></HTML>\n'
    )


def read(tmp_path, text, **options):
    path = tmp_path / "sky.lsm.html"
    path.write_text(text)
    return sky.read(path, **options)


def test_html_source(tmp_path):
    model = read(tmp_path, html(source(), source(name="'B'", rest="")))
    first, second = model
    assert (first.name, first.ra_rad, first.dec_rad) == ("A0", 1.25, -0.5)
    assert first.stokes_jy == (2.5, 0, -0.25, 1e-3) and first.rm_rad_m2 == 12
    assert first.ref_freq_hz == 1.4e9 and first.spectrum == (-0.7,)
    assert first.spectrum_scales_polarisation  # MeqTrees multiplies the whole brightness
    assert first.gaussian == (2e-5, 1e-5, 0.5) and first.patch == "C1"
    assert second.spectrum == () and second.gaussian is None and second.patch == ""


def test_curved_spectrum_is_in_natural_logarithms(tmp_path):
    assert read(tmp_path, html(source(rest=CURVED)))["A0"].spectrum == (-0.7, 0.2)


def test_the_spectrum_says_at_which_frequency_fluxes_are(tmp_path):
    """Without a rotation measure that of the polarisation says nothing."""
    flux = FLUX.replace('"12.0"', '"0.0"').replace("1400000000.0", "1e9")
    assert read(tmp_path, html(source(flux=flux)))["A0"].ref_freq_hz == 1.4e9
    assert read(tmp_path, html(source(flux=FLUX, rest="")))["A0"].ref_freq_hz == 1.4e9
    flat = SPECTRUM.replace('"-0.7"', '"0.0"')
    assert read(tmp_path, html(source(flux=flux, rest=flat)))["A0"].ref_freq_hz == 1e9


def test_a_shape_without_axes_is_a_point(tmp_path):
    shape = SHAPE.replace('"2e-05"', '"0.0"').replace('"1e-05"', '"0.0"')
    assert read(tmp_path, html(source(rest=shape)))["A0"].gaussian is None


def test_unpolarised_and_quoted_names(tmp_path):
    flux = '<TD mdltype=Flux ><A mdltype=float mdlval="3.0"></A></TD>'
    model = read(tmp_path, html(source(name="'it\\'s'", flux=flux, rest="")))
    assert model["it's"].stokes_jy == (3, 0, 0, 0)


@pytest.mark.parametrize(
    "evil",
    [
        "__import__('os').system('touch {proof}')",
        "open('{proof}', 'w')",
        "(lambda: open('{proof}', 'w'))()",
        "exec('open(\\'{proof}\\', \\'w\\')')",
    ],
)
@pytest.mark.parametrize("where", ["name", "flux"])
def test_python_in_the_file_is_never_evaluated(tmp_path, evil, where):
    proof = tmp_path / "proof"
    code = evil.format(proof=proof).replace('"', "&quot;")
    text = html(source(name=code)) if where == "name" else html(source(flux=FLUX.replace('"2.5"', f'"{code}"')))
    with pytest.raises(SkyModelError, match=r"expected a number|not a quoted string"):
        read(tmp_path, text)
    with pytest.raises(SkyModelError):
        read(tmp_path, text, skip_unsupported=True)
    assert not proof.exists()


def test_deeply_nested_strings_do_no_harm(tmp_path):
    with pytest.raises(SkyModelError, match="not a quoted string"):
        read(tmp_path, html(source(name="(" * 5000)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (html(source(rest=SHAPE.replace("Gaussian", "FITSImage"))), "shape of type FITSImage"),
        (html(source(rest=SPECTRUM.replace("SpectralIndex", "Synchrotron"))), "spectrum of type Synchrotron"),
        (html(source(rest=SPECTRUM.replace("1400000000.0", "1e9"))), "differ"),
    ],
)
def test_unsupported_parts(tmp_path, text, message):
    with pytest.raises(UnsupportedError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'sky.lsm.html'}:4:")
    model = read(tmp_path, text, skip_unsupported=True)
    assert len(model) == 0 and model.skipped[0].what == "source 'A0'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (html(source(flux=FLUX.replace('"2.5"', '"nan"'))), "I is 'nan', expected a finite number"),
        (html(source(), source()), "'A0' was already given in line 4"),
        (html(source(flux="")), "needs a name, a Position and a flux"),
        (html(source(flux=FLUX.replace("WithRM", ""))), "Polarization has 6 parts, expected I, Q, U, V"),
        (html("<TR mdltype=Source ><TD mdltype=str mdlval=\"'x'\"></TD></TR>"), "needs a name, a Position and a flux"),
        ("<HTML><BODY mdltype=Other></BODY></HTML>", "not a Tigger model"),
    ],
)
def test_html_errors(tmp_path, text, message):
    with pytest.raises(SkyModelError, match=message):
        read(tmp_path, text)


def test_column_of_an_html_error(tmp_path):
    text = html(source(flux=FLUX.replace('"2.5"', '"two"')))
    column = text.split("\n")[3].index('<A mdltype=float mdlval="two"') + 1
    with pytest.raises(SkyModelError, match=rf":4:{column}: I is 'two'"):
        read(tmp_path, text)


def read_text(tmp_path, text, **options):
    path = tmp_path / "sky.txt"
    path.write_text(text)
    return sky.read(path, **options)


def test_text_in_degrees(tmp_path):
    text = (
        "#format: name ra_d dec_d i q u v spi spi2 rm emaj_s emin_s pa_d freq0 i_err -\n"
        "A0 85.5 -49.5 2 0.1 0.2 0.3 -0.7 0.2 12 20 10 30 1.4e9 0.01 x\n"
        "# a comment\n"
        "A1 85.5 -49.5 2 0 0 0 0 0 0 0 0 0 0 0.01 x  # another\n"
    )
    first, second = read_text(tmp_path, text)
    assert (first.ra_rad, first.dec_rad) == pytest.approx((math.radians(85.5), math.radians(-49.5)), rel=1e-15)
    assert first.stokes_jy == (2, 0.1, 0.2, 0.3) and first.spectrum == (-0.7, 0.2) and first.rm_rad_m2 == 12
    assert first.gaussian == pytest.approx((20 * ARCSEC, 10 * ARCSEC, math.radians(30)), rel=1e-15)
    assert second.gaussian is None and second.spectrum == ()


def test_text_in_hours_and_degrees(tmp_path):
    text = "#format: ra_h ra_m ra_s dec_d dec_m dec_s i pol_frac pol_pa_d\n1 30 36 -0 30 36 2 10% 45\n"
    model = read_text(tmp_path, text)
    assert model["1"].ra_rad == pytest.approx(1.51 * math.pi / 12, rel=1e-15)
    assert model["1"].dec_rad == pytest.approx(-math.radians(0.51), rel=1e-15)  # the sign of "-0" counts
    assert model["1"].stokes_jy == pytest.approx((2, 0, 0.2, 0), abs=1e-15)


def test_text_without_a_header_needs_its_format(tmp_path):
    text = "A0 1 30 0 45 0 0 2 0 0 0 -0.7 0 0 0 0 1.4e9 +tag\n"
    with pytest.raises(SkyModelError, match="tigger-text"):
        read_text(tmp_path, text)
    model = read_text(tmp_path, text, format="tigger-text")
    assert model["A0"].spectrum == (-0.7,) and model["A0"].dec_rad == pytest.approx(math.pi / 4)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("#format: name ra_d dec_d i\nA 1 95 1\n", "2:1", "outside [-90, 90]"),
        ("#format: name ra_d dec_d i\nA 1 9 inf\n", "2:7", "i is 'inf'"),
        ("#format: name ra_d dec_d i\nA 1 9\n", "2:1", "flux i is missing"),
        ("#format: name dec_d i\nA 1 9\n", "2:1", "right ascension is missing"),
        ("#format: name ra_d dec_d i spi\nA 1 9 1 -0.7\n", "2:1", "no reference frequency"),
        ("#format: name ra_d dec_d i emaj_s\nA 1 9 1 20\n", "2:1", "emaj, emin and pa"),
        ("#format: name ra_d dec_d i emaj_s emin_s\nA 1 9 1 20 10\n", "2:1", "emaj, emin and pa"),
        ("#format: name ra_d dec_d i i\nA 1 9 1 20\n", "1:28", "'i' appears twice"),
        ("#format: name ra_d dec_d i mood\nA 1 9 1 20\n", "2:9", "'mood' has no meaning"),
    ],
)
def test_text_errors(tmp_path, text, place, message):
    with pytest.raises(SkyModelError) as error:
        read_text(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'sky.txt'}:{place}: "), str(error.value)
    assert message in str(error.value)


def test_repeated_column_takes_the_last_and_says_so(tmp_path):
    model = read_text(tmp_path, "#format: name ra_d dec_d i i\nA 1 9 1 20\n", skip_unsupported=True)
    assert model["A"].stokes_jy[0] == 20
    assert model.skipped[0].what == "column 4 ('i')"
