"""Generated from the registry by scripts/generate_node_docs.py; do not edit."""

from collections.abc import Callable, Sequence
from typing import Literal

from numpy.typing import ArrayLike

from . import _core as _core
from .writing.definitions import NodeDef
from .writing.scope import NodeStub

Child = NodeDef | NodeStub | ArrayLike

def refresh() -> dict[str, str]: ...
def class_infos() -> list[dict]: ...
def choices_of(class_name: str, field: str) -> tuple[str, ...]: ...
def documentation(info: dict) -> str: ...
def type_text(field: dict) -> str: ...
def default_text(field: dict) -> str: ...
def Abs(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Absolute value, or modulus of complex numbers.

        |x|

    Children
        x (scalar or tensor, any)
            argument, each element by itself

    Result: dimensions of the child; always real; unit of the child

    MeqTrees Abs
    """

def Acos(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Inverse cosine of real numbers, from 0 to pi.

        arccos x

    Children
        x (scalar or tensor, dimensionless)
            real, from -1 to 1

    Result: dimensions of the child; real, rad; NaN outside [-1, 1]

    MeqTrees Acos
    """

def Add(
    *term: Child | None,
    origin: str | None = None,
) -> NodeDef:
    """Sum of its children, element by element.

        a + b + ...

    Children
        term (any, any number)
            scalars or tensors of equal dimensions

    Result: dimensions and unit of the children; complex if any child is

    MeqTrees Add
    """

def Arg(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Phase of complex numbers, from -pi to pi.

        arg x

    Children
        x (scalar or tensor, any)
            argument, each element by itself

    Result: dimensions of the child; real, rad; pi for negative real numbers; that of zero follows its sign

    MeqTrees Arg
    """

def ArrayFactor(
    lmn: Child,
    horizon: Child,
    elements: Child,
    weights: Child | None = None,
    *,
    origin: str | None = None,
) -> NodeDef:
    """What the beamformer of an aperture array leaves of a signal from a direction.

        sum_e w_e exp(+2 pi i nu/c x_e . (s - s_0)), 0 where s is below the horizon

    Children
        lmn ([3] or [source,3], dimensionless)
            direction cosines from where the beam points, as LMN gives them
        horizon ([3,3], dimensionless)
            unit vectors to the east, to the north and to the zenith as coordinates u, v, w of where the
            beam points
        elements ([element,3], m)
            where the elements are, to the east, to the north and to the zenith
        weights ([element], dimensionless, optional)
            what each element counts; default: 1 over their number

    Result: scalar or [source], complex, dimensionless, 1 where the beam points; varies along freq

    van Haarlem et al. 2013, A&A 556, A2, 4; Balanis 2016, Antenna Theory, chapter 6; docs/writing-trees.md, primary beams
    """

def Asin(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Inverse sine of real numbers, from -pi/2 to pi/2.

        arcsin x

    Children
        x (scalar or tensor, dimensionless)
            real, from -1 to 1

    Result: dimensions of the child; real, rad; NaN outside [-1, 1]

    MeqTrees Asin
    """

def Atan2(
    y: Child,
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Angle of the point (x, y), from -pi to pi.

        atan2(y, x)

    Children
        y (scalar or tensor, any)
            ordinate, real
        x (scalar or tensor, that of y)
            abscissa, real; a scalar applies to all elements of a tensor; tensors must have equal
            dimensions

    Result: dimensions of the children; real, rad

    MeqTrees Atan2
    """

def Channelise(
    voltages: Child,
    *,
    n_channel: int,
    taps: int = ...,
    window: Literal["rectangular", "hann", "hamming"] = ...,
    format: Literal[
        "mwa32t",
        "mwa32t-swapped",
        "chime",
        "chime-low",
        "int4",
        "int4-low",
        "int8",
        "int8-swapped",
        "float32",
        "float32-swapped",
    ] = ...,
    gain: float = ...,
    delay_s: ArrayLike = ...,
    centre_hz: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Channels of samples by a Fourier transform or a polyphase filter bank, for Correlate.

        X_c(m) = gain / sqrt(n) sum_t h_t x(m n + t) exp(-2 pi i c t / n)

    Children
        voltages ([input], s)
            a source of samples of one channel (Voltages); its value is the sample interval

    State
        n_channel (int, at least 1, required)
            channels, ascending in frequency: of complex samples number n_channel / 2 is the frequency
            that was mixed to zero; of real ones number 0 is zero
        taps (int, at least 1, default 1)
            1: a Fourier transform; more: a polyphase filter bank, a sinc over so many transforms, with
            its middle in that of its own; spectra that would reach beyond the samples are left out
        window ('rectangular', 'hann' or 'hamming', default 'rectangular')
            taper of the transform or of the sinc; h is scaled so that noise has the same power in a
            channel with any
        format ('mwa32t', 'mwa32t-swapped', 'chime', 'chime-low', 'int4', 'int4-low', 'int8', 'int8-swapped', 'float32' or 'float32-swapped', default 'int8')
            what channels are rounded to, and cut off at, as of Voltages
        gain (float, above 0 and finite, default 1.0)
            noise of s least significant bits has gain times s in a channel; products are divided by it
        delay_s (array, s, default [])
            [input] by which signals come late: whole samples are taken out before, and the rest after
            the transform; empty: none
        centre_hz (float, finite, Hz, default 0.0)
            frequency that was mixed to zero: delays turn its phase, too

    Result: [input], s: the interval between samples of a channel; samples are never all in memory

    Wayth, Greenhill & Briggs 2009, PASP 121, 857, section 2; sinc windows as Klages et al. 2015
    """

def ChiSquare(
    *residual: Child | None,
    origin: str | None = None,
) -> NodeDef:
    """Chi-square of residuals: their weighted sum of squares over all children, and the cells on which these vary.

        sum w |r|^2

    Children
        residual (any, any, any number)
            Condeq, whose weight is used (Correlate: its counts), or any residual, of weight 1

    Result: scalar, real

    Perkins et al. 2015, Astronomy & Computing 12, 73 (Montblanc)
    """

def Composer(
    *x: Child | None,
    dims: ArrayLike = ...,
    origin: str | None = None,
) -> NodeDef:
    """One tensor of the elements of several children.

    Children
        x (any, any, any number)
            whose elements, row-major, come after those of the child before

    State
        dims (array, default [])
            dimensions of the result; [0]: children of equal dimensions are stacked along a new first
            dimension; empty: a vector of all elements

    Result: dimensions as the state says, unit of the children; complex if any child is

    MeqTrees Composer
    """

def Condeq(
    data: Child,
    model: Child,
    weight: Child | None = None,
    *,
    weight_factor: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Condition equation: data minus model, which a Solver makes small. It counts once for each cell on which data, model, weight or flags vary.

        data - model

    Children
        data (scalar or tensor, any)
            what was observed
        model (scalar or tensor, that of data)
            what should equal it; dimensions as data, or one of the two a scalar
        weight (scalar or tensor, 1/(unit of data)^2, optional)
            1/sigma^2 of the real and of the imaginary part each; data whose weight is not positive and
            finite are left out and counted

    State
        weight_factor (float, above 0 and at most 1e+300, default 1.0)
            multiplies the weights; without them, the weight of all data

    Result: dimensions and unit of data and model; complex if any of the two is

    MeqTrees Condeq (there model - data)
    """

def Conj(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Complex conjugate of each element (ConjTranspose also transposes).

        x*

    Children
        x (scalar or tensor, any)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; unit of the child

    MeqTrees Conj
    """

def ConjTranspose(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Conjugate transpose of a matrix, of each matrix of a stack, or conjugate of scalars.

        A^H

    Children
        x (any: [n,m], [source,n,m], .., any)
            matrix or stack of matrices; scalars [] and [source] are conjugated

    Result: [m,n] or [source,m,n], unit and type of the child

    MeqTrees ConjTranspose
    """

def Constant(
    value: ArrayLike,
    *,
    cells_rank: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """A number or an array of numbers.

    State
        value (array, any, required)
            number or array, real or complex
        cells_rank (int, default 0)
            how many trailing axes of the value are axes of the cells, in the order time, freq: with 1
            an array [2,3,T] is a [2,3] tensor for each of T times; an axis of length 1 does not vary

    Result: dimensions of the value without its cell axes; unit of the value; complex if the value is

    MeqTrees Constant
    """

def Correlate(
    *voltages: Child | None,
    integration: int,
    gates: int = ...,
    gate_length: int = ...,
    gate_offset: int = ...,
    strategy: Literal["automatic", "bytes", "groups2", "groups4", "hybrid2", "hybrid4", "packed", "pairs"] = ...,
    band_hz: ArrayLike = ...,
    origin: str | None = None,
) -> NodeDef:
    """Products of all inputs of a source of samples, averaged over each time cell.

        V_ij = mean over the samples of a cell of x_i x_j*, i >= j, at i (i + 1) / 2 + j

    Children
        voltages ([input], s, any number)
            sources of samples, one for each band: Voltages or Channelise; a request must have as many
            channels as its band

    State
        integration (int, 1 to 1099511627776, required)
            samples in a time cell; cells begin at start_s of the source plus multiples of it
        gates (int, 1 to 1048576, default 1)
            gates of a period, each with products of its own: sample n is in gate (n + gate_offset) /
            gate_length modulo gates
        gate_length (int, 1 to 1099511627776, default 1)
            samples for which a gate is open in each period
        gate_offset (int, -1099511627776 to 1099511627776, default 0)
            samples by which the first period began before the first sample
        strategy ('automatic', 'bytes', 'groups2', 'groups4', 'hybrid2', 'hybrid4', 'packed' or 'pairs', default 'automatic')
            how products are formed, which changes no bit of them: automatic, bytes (8-bit dot
            products), packed (two products in one word, for 4-bit samples), pairs (one after the
            other), groups2, groups4, hybrid2 or hybrid4 (blocks of so many inputs, as references)
        band_hz (array, Hz, default [])
            [band] middle of each, where there are several: a request is of the band next to its own
            middle

    Result: [product], with gates [gate,product], complex, squares of the least significant bit; varies along time and freq

    Wayth, Greenhill & Briggs 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203
    """

def Correlation(
    products: Child,
    *,
    station_1_index: int,
    station_2_index: int,
    feeds: int = ...,
    inputs: ArrayLike = ...,
    quantity: Literal["visibility", "weight", "count"] = ...,
    origin: str | None = None,
) -> NodeDef:
    """Visibilities of one baseline among the products of Correlate, their weights or their counts.

        V_pq[a,b] = mean of v_pa v_qb*; weight 2 n / (V_ii V_jj)

    Children
        products ([product], any)
            of all inputs i >= j, number i (i + 1) / 2 + j: Correlate without gates, or one of them

    State
        station_1_index (int, at least 0 and of 32 bits, required)
            ANTENNA1 of the baseline: row of the ANTENNA table
        station_2_index (int, at least 0 and of 32 bits, required)
            ANTENNA2 of the baseline: row of the ANTENNA table
        feeds (int, 1 to 2, default 2)
            inputs of a station
        inputs (array, default [])
            [station,feed]: number of the input; empty: station * feeds + feed
        quantity ('visibility', 'weight' or 'count', default 'visibility')
            "visibility"; "weight": 1/variance of each real part, from counts and autocorrelations; or
            "count": independent samples

    Result: [2,2] by feeds: visibilities (complex, unit of the child), weights (1/unit^2) or counts

    Smirnov 2011, A&A 527, A106, eq. 5; Thompson, Moran & Swenson 2017, section 6.2
    """

def Cos(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Cosine.

        cos x

    Children
        x (scalar or tensor, rad)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless

    MeqTrees Cos
    """

def CrossedDipoles(
    lmn: Child,
    radec_0: Child,
    horizon: Child,
    *,
    x_azimuth_rad: float = ...,
    y_azimuth_rad: float = ...,
    length: Literal["short", "half-wave"] = ...,
    height_m: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Jones matrix of two dipoles, parallel to the ground, towards directions on the sky.

        [[x.north, x.east], [y.north, y.east]] f g, 0 below the horizon; half-wave: f = cos(pi/2 c) / (1 - c^2), c along the dipole; ground: g = sin(2 pi h nu/c cos z) / sin(2 pi h nu/c)

    Children
        lmn ([3] or [source,3], dimensionless)
            direction cosines from a phase centre, as LMN gives them
        radec_0 ([2], rad)
            right ascension and declination of that centre
        horizon ([3,3], dimensionless)
            unit vectors to the east, to the north and to the zenith as coordinates u, v, w of that
            centre

    State
        x_azimuth_rad (float, finite, rad, default 1.5707963267948966)
            where the X dipole points, from north through east; default: to the east
        y_azimuth_rad (float, finite, rad, default 0.0)
            where the Y dipole points; default: to the north
        length ('short' or 'half-wave', default 'short')
            short (much less than a wave) or half-wave
        height_m (float, at least 0 and below 1000000, m, default 0.0)
            of the dipoles above a ground that reflects, less than half a wave; 0: there is none

    Result: [2,2] or [source,2,2], real, dimensionless, 1 at the zenith; varies along freq

    Balanis 2016, Antenna Theory, 4.6 and 4.8; Sokolowski et al. 2017, PASA 34, e062; docs/writing-trees.md, primary beams
    """

def DeviceMemory(
    *,
    device: str = ...,
    budget_bytes: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Which devices the forest is evaluated on, within what memory, and what that has cost.

    State
        device (str, default 'auto')
            names with commas between them (cuda:0, simulated:BYTES, host), auto: all GPUs, none
        budget_bytes (int, at least 0, default 0)
            what may be taken of each device's memory; 0: four fifths of what is free

    Result: [8]: budget, resident, peak (bytes), bytes up, bytes down, hits, evictions, copying (s)

    Baxter, MSc thesis, University of Cape Town: persistent device memory as future work
    """

def DishBeam(
    lmn: Child,
    width: Child,
    *,
    profile: Literal["gaussian", "cosine", "airy"] = ...,
    ref_freq_hz: float,
    blockage: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Voltage pattern of a dish at directions from where it points: circular, real, 1 in the middle.

        E(sqrt(l^2 + m^2) / width nu / ref_freq_hz), 0 where n < 0; gaussian: exp(-2 ln2 y^2); cosine: cos(1.18896 pi y) / (1 - (2.37793 y)^2); airy: A(x) = 2 J_1(x)/x at x = 3.23268 y, with blockage b (A(x) - b^2 A(b x)) / (1 - b^2)

    Children
        lmn ([3] or [source,3], dimensionless)
            direction cosines from where the dish points, as LMN gives them
        width ([], rad)
            full width at half maximum of the power at ref_freq_hz; of airy: without blockage

    State
        profile ('gaussian', 'cosine' or 'airy', default 'gaussian')
            gaussian, cosine (field tapered to the dish's edge) or airy (field alike on all of the dish)
        ref_freq_hz (float, above 0 and finite, Hz, required)
            frequency of the width; widths go as 1/frequency
        blockage (float, at least 0 and below 1, default 0.0)
            of airy: diameter of what shadows the middle of the dish, as a part of the dish's

    Result: scalar or [source], real, dimensionless, at most 1; varies along freq

    Condon & Ransom 2016, Essential Radio Astronomy, 3.3 (cosine); Born & Wolf 1999, Principles of Optics, 8.5.2 (airy); docs/writing-trees.md, primary beams
    """

def Divide(
    a: Child,
    b: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Quotient of two children, element by element.

        a / b

    Children
        a (scalar or tensor, any)
            dividend
        b (scalar or tensor, any)
            divisor; a scalar applies to all elements of a tensor; tensors must have equal dimensions

    Result: dimensions of the children, quotient of their units; complex if any child is; division by zero gives infinities or NaN

    MeqTrees Divide
    """

def Exp(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Exponential function.

        exp(x)

    Children
        x (scalar or tensor, dimensionless)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless

    MeqTrees Exp
    """

def Freq(
    *,
    origin: str | None = None,
) -> NodeDef:
    """The cell-centre frequencies in Hz.

        nu

    Result: scalar, real, Hz; varies along freq

    MeqTrees Freq
    """

def GaussNoise(
    *,
    stddev: float = ...,
    mean: float = ...,
    seed: int = ...,
    dims: ArrayLike = ...,
    complex: bool = ...,
    origin: str | None = None,
) -> NodeDef:
    """Normally distributed noise, the same in every run.

    State
        stddev (float, at least 0, any, default 1.0)
            standard deviation; of complex noise that of the real and of the imaginary part
        mean (float, that of stddev, default 0.0)
            mean; of complex noise that of the real part
        seed (int, default 0)
            with the node's name, time and frequency decides the numbers: nodes of different names are
            independent, and so are data descriptions and fields of a Measurement Set
        dims (array, default [])
            dimensions of the result, e.g. [2,2]; empty: a scalar
        complex (bool, default False)
            whether the noise is complex

    Result: dimensions as the state says, unit of stddev; varies along time and freq

    Salmon et al. 2011, SC11 (Philox4x32-10); Box & Muller 1958; MeqTrees GaussNoise
    """

def Grid(
    *,
    axis: str,
    width: bool = ...,
    origin: str | None = None,
) -> NodeDef:
    """The centres of the cells along an axis of the request, or their widths.

    State
        axis (str, required)
            time, freq, l or m
        width (bool, default False)
            gives the widths of the cells, in time the longest EXPOSURE of a slot

    Result: scalar, real; varies along the axis; seconds of MJD (UTC) for time (of widths: s), Hz for freq, direction cosines for l and m

    MeqTrees Grid
    """

def Identity(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Its child, unchanged; gives an expression a name of its own.

        x

    Children
        x (any, any)
            what is passed on

    Result: as the child

    MeqTrees Identity
    """

def Imag(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Imaginary part; 0 for real numbers.

        Im x

    Children
        x (scalar or tensor, any)
            argument, each element by itself

    Result: dimensions of the child; real; unit of the child

    MeqTrees Imag
    """

def Interpolate(
    table: Child,
    *place: Child | None,
    outside: Literal["nan", "zero", "edge"] = ...,
    method: Literal["linear", "cubic"] = ...,
    origin: str | None = None,
) -> NodeDef:
    """A table at places between its entries, by lines or cubics along each of its first dimensions.

        linear, k = 1: (1 - p + i) table[i] + (p - i) table[i+1], i = floor p; k = 2, 3: the same along each; cubic: of table[i-1] to table[i+2], with the weights of cubic convolution

    Children
        table (tensor: [n,..], [n,m,..] or [n,m,l,..], any)
            values on a grid of one, two or three dimensions, each a number or a tensor
        place ([k] or [source,k], k = 1, 2 or 3; or 2 or 3 children [] or [source], dimensionless, any number)
            where to look: for each dimension of the grid so many steps from its first entry; all in one
            child, or each in one of its own

    State
        outside ('nan', 'zero' or 'edge', default 'nan')
            what there is beyond the first and the last entry: nan, zero, or edge (the value of the
            nearest entry)
        method ('linear' or 'cubic', default 'linear')
            linear, or cubic: smoother, and closer by far where the table is, of four entries along each
            dimension (linear of two); it goes beyond the entries beside kinks

    Result: the table's other dimensions, or [source, ..]; unit of the table; complex if it is

    Press et al. 2007, Numerical Recipes, 3rd ed., 3.6; Keys 1981, IEEE Trans. ASSP 29, 1153
    """

def LMN(
    radec: Child,
    radec_0: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Direction cosines l, m, n of directions with respect to a phase centre (SIN projection).

        l = cos(dec) sin(ra-ra0), m = sin(dec) cos(dec0) - cos(dec) sin(dec0) cos(ra-ra0), n = sin(dec) sin(dec0) + cos(dec) cos(dec0) cos(ra-ra0)

    Children
        radec ([2] or [source,2], rad)
            right ascension and declination of the direction or directions
        radec_0 ([2], rad)
            right ascension and declination of the phase centre, in the same frame

    Result: [3] or [source,3]: l, m, n (not n-1), dimensionless; n is negative more than 90 degrees away

    Calabretta & Greisen 2002, A&A 395, 1077, section 5.1.5 (SIN projection); MeqTrees LMN
    """

def Log(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Natural logarithm.

        ln x

    Children
        x (scalar or tensor, dimensionless)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless; zero gives -infinity, a negative real number NaN

    MeqTrees Log
    """

def LogLikelihood(
    *residual: Child | None,
    posterior: bool = ...,
    origin: str | None = None,
) -> NodeDef:
    """Logarithm of the likelihood of data with normal noise, or of the posterior probability.

        -1/2 sum (w |r|^2) + 1/2 sum ln(w / 2 pi)

    Children
        residual (any, any, any number)
            Condeq, whose weight (inverse variance) is used (Correlate: its counts), or any residual, of
            weight 1

    State
        posterior (bool, default False)
            whether the normal priors of the solvable Parms below are added

    Result: scalar, real

    Lochner et al. 2015, MNRAS 450, 1308
    """

def Matrix22(
    xx: Child,
    xy: Child,
    yx: Child,
    yy: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """A 2x2 matrix of four scalars, e.g. a Jones matrix.

        [[xx, xy], [yx, yy]]

    Children
        xx ([], any)
            first row, first column
        xy ([], any)
            first row, second column
        yx ([], any)
            second row, first column
        yy ([], any)
            second row, second column

    Result: [2,2], unit of the children; complex if any child is

    MeqTrees Matrix22
    """

def MatrixInvert22(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Inverse of a 2x2 matrix, of each matrix of a stack, or reciprocal of scalars.

        [[d, -b], [-c, a]] / (a d - b c)

    Children
        x ([2,2], [source,2,2], [] or [source], any)
            matrix or stack of matrices; of scalars [] and [source] the reciprocals

    Result: dimensions of the child, reciprocal unit, complex; singular matrices give infinities or NaN

    Cramer's rule; MeqTrees MatrixInvert22
    """

def MatrixMultiply(
    *factor: Child | None,
    origin: str | None = None,
) -> NodeDef:
    """Matrix product of its children from left to right.

        A B C ...

    Children
        factor ([], [n], [n,m] or [source,n,m], any, any number)
            scalars multiply everything; vectors [n] are rows on the left and columns on the right of
            matrices, two of them give their scalar product; stacks [source,n,m] are multiplied matrix
            by matrix, and next to a stack [source] is one scalar per matrix

    Result: dimensions by the rules of matrix multiplication, product of the units; complex if any child is

    MeqTrees MatrixMultiply; Smirnov 2011, A&A 527, A106, section 1
    """

def Max(
    *x: Child | None,
    reduction_axes: list[str] = ...,
    tensor_axis: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Largest value: of one child over cells, or of several children on each cell.

        largest of x

    Children
        x (any, any, any number)
            values, of equal dimensions if there are several children; flagged cells are left out

    State
        reduction_axes (list of str, default ['time', 'freq', 'l', 'm'])
            axes of the cells that are reduced: any of time, freq, l, m; the default is all of them, an
            empty list none. With several children no axis is reduced: the largest of them is taken on
            each cell
        tensor_axis (int, -1 to 3, default -1)
            dimension of the tensor that is reduced as well, e.g. 0 to go from [source,2,2] to [2,2];
            -1: none

    Result: dimensions of the children without tensor_axis, real, unit of the children

    MeqTrees Max
    """

def Mean(
    *x: Child | None,
    reduction_axes: list[str] = ...,
    tensor_axis: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Mean over cells, e.g. over time and freq; flagged cells are left out.

        mean of x over cells

    Children
        x (any, any, any number)
            values, of equal dimensions if there are several children; flagged cells are left out

    State
        reduction_axes (list of str, default ['time', 'freq', 'l', 'm'])
            axes of the cells that are reduced: any of time, freq, l, m; the default is all of them, an
            empty list none. The values of several children go into one mean
        tensor_axis (int, -1 to 3, default -1)
            dimension of the tensor that is reduced as well, e.g. 0 to go from [source,2,2] to [2,2];
            -1: none

    Result: dimensions of the children without tensor_axis, unit of the children; constant along the reduced axes

    MeqTrees Mean
    """

def MergeFlags(
    x: Child,
    *flags: Child | None,
    flag_mask: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Its first child, flagged where any of its children is.

    Children
        x (any, any)
            whose values are passed on
        flags (any, any, any number)
            whose flags are added: element by element if the dimensions are those of x, otherwise the
            flags of all elements

    State
        flag_mask (int, of 32 bits, default -1)
            bits that are taken from the children "flags"; -1: all

    Result: the first child, with more flags

    MeqTrees MergeFlags
    """

def Min(
    *x: Child | None,
    reduction_axes: list[str] = ...,
    tensor_axis: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Smallest value: of one child over cells, or of several children on each cell.

        smallest of x

    Children
        x (any, any, any number)
            values, of equal dimensions if there are several children; flagged cells are left out

    State
        reduction_axes (list of str, default ['time', 'freq', 'l', 'm'])
            axes of the cells that are reduced: any of time, freq, l, m; the default is all of them, an
            empty list none. With several children no axis is reduced: the smallest of them is taken on
            each cell
        tensor_axis (int, -1 to 3, default -1)
            dimension of the tensor that is reduced as well, e.g. 0 to go from [source,2,2] to [2,2];
            -1: none

    Result: dimensions of the children without tensor_axis, real, unit of the children

    MeqTrees Min
    """

def Multiply(
    *factor: Child | None,
    elementwise: bool = ...,
    origin: str | None = None,
) -> NodeDef:
    """Product of its children, element by element (MatrixMultiply gives matrix products).

        a * b * ...

    Children
        factor (scalar or tensor, any, any number)
            a scalar applies to all elements of a tensor; tensors must have equal dimensions

    State
        elementwise (bool, default False)
            says that 2x2 matrices are meant to be multiplied element by element: there is no warning
            then

    Result: dimensions of the children, product of their units; complex if any child is

    MeqTrees Multiply
    """

def Negate(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """The child with its sign reversed.

        -x

    Children
        x (scalar or tensor, any)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; unit of the child

    MeqTrees Negate
    """

def Norm(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Frobenius norm of a tensor, on each cell.

        sqrt(sum |x|^2 over elements)

    Children
        x (any, any)
            vector, matrix or any tensor

    Result: scalar, real, unit of the child

    MeqTrees Norm
    """

def Parm(
    value: ArrayLike,
    *,
    time_0_s: float = ...,
    time_scale_s: float = ...,
    freq_0_hz: float = ...,
    freq_scale_hz: float = ...,
    time_edges_s: ArrayLike = ...,
    freq_edges_hz: ArrayLike = ...,
    solvable: bool = ...,
    use_previous: bool = ...,
    minimum: ArrayLike = ...,
    maximum: ArrayLike = ...,
    prior_mean: ArrayLike = ...,
    prior_sigma: ArrayLike = ...,
    normalised: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """A parameter that may be solved for: a number, or polynomials in time and frequency.

        sum_ij value[tile][i][j] ((t - time_0_s)/time_scale_s)^i ((nu - freq_0_hz)/freq_scale_hz)^j

    State
        value (array, any, required)
            number, or polynomial coefficients [time degree + 1] or [time degree + 1, freq degree + 1],
            the same in all solution tiles; or [time tile, freq tile, time degree + 1, freq degree + 1],
            one polynomial per tile: [time tile, freq tile, 1, 1] is one value per tile
        time_0_s (float, s, default 0.0)
            time at which x = 0, as MJD in seconds (UTC)
        time_scale_s (float, s, default 1.0)
            time over which x grows by 1
        freq_0_hz (float, Hz, default 0.0)
            frequency at which y = 0
        freq_scale_hz (float, Hz, default 1.0)
            frequency over which y grows by 1
        time_edges_s (array, s, default [])
            edges of the solution tiles in time, ascending; empty: one tile
        freq_edges_hz (array, Hz, default [])
            edges of the solution tiles in frequency; empty: one tile
        solvable (bool, default False)
            whether results get derivatives with respect to the coefficients
        use_previous (bool, default True)
            whether the fit of a group of time slots starts with what the one before it has given; else
            each starts with the value that the Parm had when the run began
        minimum (array, of value, default [])
            lower bound of the constant term, or of each coefficient
        maximum (array, of value, default [])
            upper bound of the constant term, or of each coefficient
        prior_mean (array, of value, default [])
            mean of a normal prior of the constant term, or of each coefficient; default 0
        prior_sigma (array, of value, default [])
            its standard deviation; empty or 0: no prior
        normalised (int, -2 to 1000000, default 0)
            where data tell only the product of Parms, as of two Jones terms of an antenna: of those
            with the highest number here the mean amplitude over the solution tiles becomes 1 and the
            mean phase 0 (weighted with the amplitude), and the others take up the rest; 0: never; -1:
            only the sum over the tiles is held, at what it is, for what is open after all others; -2:
            likewise, after those

    Result: scalar, real, unit of the value

    MeqTrees Parm (Polc funklets, tiling)
    """

def Polar(
    ampl: Child,
    phase: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Complex numbers from amplitudes and phases.

        ampl exp(i phase)

    Children
        ampl (scalar or tensor, any)
            amplitude, real
        phase (scalar or tensor, rad)
            phase, real; a scalar applies to all elements of a tensor; tensors must have equal
            dimensions

    Result: dimensions of the children, unit of ampl; complex

    MeqTrees Polar
    """

def Pow(
    a: Child,
    b: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Power, element by element.

        a^b

    Children
        a (scalar or tensor, any)
            base
        b (scalar or tensor, dimensionless)
            exponent; a scalar applies to all elements of a tensor; tensors must have equal dimensions

    Result: dimensions of the children; complex if any child is; a negative real base with a fractional exponent gives NaN

    MeqTrees Pow
    """

def PSV(
    lmn: Child,
    brightness: Child,
    uvw: Child,
    shape: Child | None = None,
    *jones: Child | None,
    n_minus: int = ...,
    smear_time: bool = ...,
    smear_frequency: bool = ...,
    time_width_s: float = ...,
    freq_width_hz: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Visibilities of many sources on one baseline, in one pass: the monolithic node.

        sum_s [.. J_sp B_s J_sq^H ..] exp(+2 pi i nu/c (u l + v m + w (n - n_minus))) smearing shape

    Children
        lmn ([S,3] or [3], dimensionless)
            direction cosines
        brightness ([S,2,2] or [S]; of one source also [2,2] or [], Jy)
            brightness matrices XX XY YX YY, or unpolarised fluxes
        uvw ([3] or [2,3], m, m/s)
            baseline as in the Measurement Set; a second row holds its rates and turns smearing on
        shape ([S,3], [S,4], [S,6] or [S,7]; of one source also a row, rad, optional)
            major and minor axis and position angle in the (l, m) plane; or six numbers, the components
            of both axes along u, v and w; zeros for points. One number more says what profile it is,
            and what its axes are: 0 (gaussian: axes are full widths at half maximum), 1
            (exponential_disk: axes are scale lengths), 2 (uniform_disk: axes are diameters); without it
            all are of the first one
        jones ([S], [S,2,2], [] or [2,2], dimensionless, any number)
            pairs J_p, J_q^H (as ConjTranspose gives it), the innermost pair first; one without sources
            is the same for all of them (outside of all others, J_p @ PSV @ J_q^H costs less)

    State
        n_minus (int, 0 to 1, default 1)
            1: phase zero at the phase centre, 0: no fringe stopping
        smear_time (bool, default True)
            time smearing over the cell's width, where uvw has rates
        smear_frequency (bool, default True)
            bandwidth smearing over the channel's width, where uvw has rates
        time_width_s (float, at least 0 and finite, s, default 0.0)
            what smearing in time is over; 0: the width of each cell
        freq_width_hz (float, at least 0 and finite, Hz, default 0.0)
            what smearing in frequency is over; 0: the width of each cell

    Result: [2,2], unit of the brightness

    Smirnov 2011, A&A 527, A106, eq. 14; conventions: docs/conventions.md. MeqTrees: PSVTensor
    """

def PyNode(
    *children: Child,
    evaluate: Callable[..., ArrayLike] | object,
    pull_back: Callable[..., object] | None = None,
    dims: Sequence[int] = (),
    depends_on: Sequence[str] = ("domain",),
    mixes: Sequence[str] = ("time", "freq", "l", "m"),
    version: int | None = None,
    origin: str | None = None,
) -> NodeDef:
    """A node whose mathematics is Python.

    `evaluate(cells, *children) -> array` is a function, or an object with a method of that name. It gets the request's
    `Cells` and one array per child, shaped [tensor dimensions..., time, freq], where axes along which a child does not
    vary have length 1, and returns an array of the same form with tensor dimensions `dims` (trailing axes may be left
    out, but not that of channels where there are as many times). `depends_on` says what else it depends on, of "domain"
    (the cells; the default), "data" and "iteration". It runs on the calling thread, with the interpreter held.

    It may use anything else that Python knows, such as attributes of its object, as long as that stays the same while a
    call of the forest (`evaluate`, `solve`, `run` ...) runs. The next call asks it anew, for it cannot be seen whether
    something has changed. With `version`, a number from 0 on, you promise that what it uses changes only where you say
    so by another version (`forest.set_state(node, version=2)`): results are then kept from call to call.

    `masked=True`: the arrays are masked arrays (`numpy.ma`), masked where children are flagged; where flags vary along
    an axis and values do not, they are given along it all the same. Returns it one, its mask are the flags of the
    result; a plain array is flagged where any child is, as without `masked`. So a function may flag, and take flags
    back.

    `mixes`: axes along which a cell of the result may depend on other cells of the children; all unless you say less.
    It decides how derivatives with respect to Parms with several solution tiles are formed: one for each tile. For a
    function of each cell by itself say `mixes=[]`, which takes fewer evaluations.

    Derivatives in forward mode are central differences of it. So are those in reverse mode (gradients), one for each
    tensor element of a child, unless there is `pull_back(cells, adjoint, *children)`, a function or a method of the
    same object. `adjoint` has the form of the result and holds dL/dRe + i dL/dIm, the derivatives of a real number L
    with respect to the result's real and imaginary parts; what is returned is the same for each child, an array or None
    (the result does not depend on it), as a sequence if there are several. It may be given on all cells, also where a
    child is shorter: then it is summed over them. Where the result is flagged the adjoint is zero.
    """

def Real(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Real part.

        Re x

    Children
        x (scalar or tensor, any)
            argument, each element by itself

    Result: dimensions of the child; real; unit of the child

    MeqTrees Real
    """

def Selector(
    x: Child,
    *,
    index: ArrayLike,
    multi: bool = ...,
    origin: str | None = None,
) -> NodeDef:
    """An element, a slice, or a list of elements of a tensor.

        x[index]

    Children
        x (any, any)
            tensor from which is selected

    State
        index (array, required)
            one integer per dimension, from 0, where -1 takes the whole dimension; or one integer, which
            counts elements row-major; or a row [[i, j, ...]] for the first dimensions, of which the
            others are taken whole. With multi a list of elements counted row-major, or of such rows
        multi (bool, default False)
            whether index is a list: of elements, which become a vector, or of rows, whose selections
            are stacked along a new first dimension

    Result: scalar or tensor of the dimensions taken whole, or with multi a list of them along a new first dimension; unit and type of the child

    MeqTrees Selector
    """

def Shapelets(
    coefficients: Child,
    axes: Child,
    uvw: Child,
    directions: Child | None = None,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Factor by which the visibility of a source that is a sum of shapelets differs from a point's.

        sum c_jk i^(j+k) phi_j(2 pi beta_1 u_1) phi_k(2 pi beta_2 u_2), phi_n(x) = H_n(x) exp(-x^2/2) / sqrt(2^n n!), u_1 and u_2 along the axes in wavelengths

    Children
        coefficients ([j,k] or [source,j,k], dimensionless)
            what each function counts
        axes ([3] or [source,3], rad)
            full width at half maximum of the first function along both axes, beta sqrt(8 ln 2), and
            position angle of the first one, north through east; the second axis is 90 degrees before it
        uvw ([3] or [2,3], m)
            coordinates of the baseline; of [2,3] only the first row is used
        directions ([2,3] or [source,2,3], dimensionless, optional)
            unit vectors to the east and to the north at the source as coordinates u, v, w; default:
            those at the phase centre

    Result: scalar or [source], complex, dimensionless; varies along freq

    Refregier 2003, MNRAS 338, 35; axes and coefficients as Line et al. 2020, PASA 37, e027; docs/conventions.md, shapelets
    """

def Sin(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Sine.

        sin x

    Children
        x (scalar or tensor, rad)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless

    MeqTrees Sin
    """

def Sink(
    x: Child,
    *,
    station_1_index: int,
    station_2_index: int,
    output_column: str = ...,
    write_flags: bool = ...,
    flag_mask: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Writes its child as the visibilities of one baseline of the Measurement Set.

    Children
        x ([] or [2,2], Jy)
            visibilities XX, XY, YX, YY (or RR, RL, LR, LL); a scalar is written to XX and YY

    State
        station_1_index (int, at least 0 and of 32 bits, required)
            ANTENNA1 of the baseline: row of the ANTENNA table
        station_2_index (int, at least 0 and of 32 bits, required)
            ANTENNA2 of the baseline: row of the ANTENNA table
        output_column (str, default 'MODEL_DATA')
            column that is written, as single-precision complex numbers; WEIGHT_SPECTRUM: weights, which
            are real, of all correlations if they are scalars, into a column that must be there
        write_flags (bool, default False)
            whether data that the child flags are flagged in the Measurement Set as well; flags that are
            set there are never removed
        flag_mask (int, of 32 bits, default -1)
            bits of the child's flags that count; -1: all

    Result: scalar: number of rows written

    MeqTrees Sink; correlation types as in the POLARIZATION table of a Measurement Set
    """

def Solver(
    *condeq: Child | None,
    parms: list[str] = ...,
    iterations: int = ...,
    tolerance: float = ...,
    sigma_tolerance: float = ...,
    damping: float = ...,
    robust_dof: float = ...,
    estimate_noise: bool = ...,
    errors_from_residuals: bool = ...,
    smooth_hz: float = ...,
    method: Literal["auto", "generic"] = ...,
    directions: Literal["joint", "successive"] = ...,
    origin: str | None = None,
) -> NodeDef:
    """Fits Parms to data: makes the Condeqs below it as small as it can.

        sum of weight |data - model|^2 -> minimum

    Children
        condeq (any, any, any number)
            Condeq nodes

    State
        parms (list of str, default [])
            names of the Parms to solve for, which must have solvable=True; empty: all of these below
            the Condeqs
        iterations (int, at least 0, default 50)
            most steps that are tried
        tolerance (float, above 0, default 1e-08)
            converged when the next step changes the model by less than this fraction of the data
        sigma_tolerance (float, above 0, default 0.001)
            ... and by less than this in units of its standard error
        damping (float, at least 0, default 0.001)
            damping of the first step, relative to the diagonal of the normal matrix
        robust_dof (float, at least 0 and below 1000000, default 0.0)
            degrees of freedom of Student's t as distribution of the errors, which makes outliers
            harmless (2 to 5 are usual); 0: normal errors
        estimate_noise (bool, default False)
            with robust_dof: whether weights are known but for a factor, which is then found from the
            residuals (the scale of Student's t of largest likelihood)
        errors_from_residuals (bool, default False)
            whether standard errors are scaled by the root of the reduced chi-square, for weights that
            are known but for a factor
        smooth_hz (float, at least 0, default 0.0)
            full width at half maximum of a normal curve along frequency: a solution is that which fits
            the data of all intervals best, weighted by it (Jones terms that are constant within their
            intervals, normal errors; SolveReport.smoothed_hz says whether); 0: its own data
        method ('auto' or 'generic', default 'auto')
            "auto": sums over the data, made once, where models are Jones terms around fixed
            visibilities; "generic": derivatives of every Condeq always
        directions ('joint' or 'successive', default 'joint')
            "joint": all Jones terms of a model together; "successive": one additive term after the
            other, in turns, until none improves

    Result: [5], real: chi-square before and after, number of real equations, largest number of iterations, fraction of groups that converged

    Marquardt 1963, J. SIAM 11, 431; MeqTrees Solver
    """

def SourceShape(
    shape: Child,
    uvw: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Factor by which an extended source's visibility is less than that of a point of equal flux.

        G(s ((major (u sin pa + v cos pa))^2 + (minor (u cos pa - v sin pa))^2)), u and v in wavelengths, with the profile's G and s

    Children
        shape ([3], [4], [6], [7], [source,3], [source,4], [source,6] or [source,7], rad)
            major and minor axis and position angle of the major axis, north through east, in the (l, m)
            plane; or six numbers, the components of both axes along u, v and w; all zero for a point.
            One number more says what profile it is, and what its axes are: 0 (gaussian: axes are full
            widths at half maximum), 1 (exponential_disk: axes are scale lengths), 2 (uniform_disk: axes
            are diameters); without it all are of the first one
        uvw ([3] or [2,3], m)
            coordinates of the baseline; of [2,3] only the first row is used

    Result: scalar or [source], real, dimensionless, at most 1; varies along freq

    docs/conventions.md, shapes
    """

def Spectrum(
    stokes: Child,
    coefficients: Child,
    ref_freq_hz: Child,
    rotation_measure: Child | None = None,
    *,
    logarithmic: ArrayLike = ...,
    scale_polarisation: ArrayLike = ...,
    origin: str | None = None,
) -> NodeDef:
    """Stokes parameters at the frequencies of the cells, from those at a reference frequency.

        logarithmic: I = I0 x^(c0 + c1 ln x + ...); ordinary: I = I0 + c0 (x-1) + c1 (x-1)^2 + ...; x = nu/nu0; Q+iU turned by exp(2i RM (lambda^2 - lambda0^2))

    Children
        stokes ([4] or [source,4], Jy)
            I, Q, U, V at the reference frequency
        coefficients ([K] or [source,K], dimensionless; Jy for ordinary polynomials)
            c0 (the spectral index), c1, ...; K may be 0; the same for all sources if [K]
        ref_freq_hz ([] or [source], Hz)
            reference frequency nu0; not used by sources whose coefficients and rotation measure are all
            zero, which may have 0 here
        rotation_measure ([] or [source], rad/m^2, optional)
            rotation measure

    State
        logarithmic (array, default 1)
            1: logarithmic, 0: ordinary polynomial; one number, or one per source
        scale_polarisation (array, default 1)
            1: Q, U and V are scaled by I(nu)/I0, 0: they are constant but for the rotation measure; one
            number, or one per source. Ordinary polynomials of sources without I0 never scale

    Result: [4] or [source,4] as stokes, real, Jy; varies along freq

    Perley & Butler 2017, ApJS 230, 7 (their log10 is the natural logarithm here: convert coefficients); rotation measure: Burn 1966, MNRAS 133, 67
    """

def Spigot(
    *,
    station_1_index: int,
    station_2_index: int,
    input_column: str = ...,
    include_deriv: bool = ...,
    flag_bit: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Data of one baseline from the Measurement Set: visibilities, weights, UVW or EXPOSURE.

    State
        station_1_index (int, at least 0 and of 32 bits, required)
            ANTENNA1 of the baseline: row of the ANTENNA table
        station_2_index (int, at least 0 and of 32 bits, required)
            ANTENNA2 of the baseline: row of the ANTENNA table
        input_column (str, default 'DATA')
            DATA, MODEL_DATA or any other visibility column that is read, WEIGHT, UVW, or EXPOSURE
        include_deriv (bool, default False)
            adds to UVW, as a second row, its rate of change times EXPOSURE over the time width of the
            cell, so that time smearing over the cell is that over EXPOSURE
        flag_bit (int, of 32 bits, default 1)
            bits set where the Measurement Set flags, or has no datum (which is 0 then); with 0 nothing
            is flagged

    Result: visibilities (complex, Jy) or WEIGHT (real): [2,2], with XX or RR, XY or RL, YX or LR, YY or LL (Stokes I alone: diag(I,I)); UVW: [3], m, or with include_deriv [2,3], m and m/s; EXPOSURE: scalar, s

    MeqTrees Spigot; correlation types as in the POLARIZATION table of a Measurement Set
    """

def Sqr(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Square (of a complex number: x*x, not |x|^2).

        x^2

    Children
        x (scalar or tensor, any)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; unit of the child squared

    MeqTrees Sqr
    """

def Sqrt(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Square root.

        sqrt(x)

    Children
        x (scalar or tensor, any)
            a negative real number gives NaN: make it complex first (ToComplex)

    Result: dimensions of the child; real for a real child, complex for a complex one; square root of the unit of the child; a negative real number gives NaN, a complex one its principal root

    MeqTrees Sqrt
    """

def Stokes(
    stokes: Child,
    *,
    feed: Literal["linear", "circular"] = ...,
    origin: str | None = None,
) -> NodeDef:
    """Brightness matrix (coherency at the source) of Stokes parameters I, Q, U, V.

        linear: [[I+Q, U+iV], [U-iV, I-Q]]; circular: [[I+V, Q+iU], [Q-iU, I-V]]

    Children
        stokes ([4] or [source,4], Jy)
            Stokes I, Q, U, V (IAU convention)

    State
        feed ('linear' or 'circular', default 'linear')
            linear (X, Y) or circular (R, L) feeds

    Result: [2,2] or [source,2,2], complex, unit of the child; I = (XX+YY)/2

    Smirnov 2011, A&A 527, A106 (brightness matrix), without the factor 1/2; MeqTrees Stokes
    """

def Subtract(
    a: Child,
    b: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Difference of two children, element by element.

        a - b

    Children
        a (scalar or tensor, any)
            from which is subtracted
        b (scalar or tensor, that of a)
            what is subtracted; a scalar applies to all elements of a tensor; tensors must have equal
            dimensions

    Result: dimensions and unit of the children; complex if any child is

    MeqTrees Subtract
    """

def Sum(
    *x: Child | None,
    reduction_axes: list[str] = ...,
    tensor_axis: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Sum over cells, e.g. over time and freq; flagged cells are left out.

        sum of x over cells

    Children
        x (any, any, any number)
            values, of equal dimensions if there are several children; flagged cells are left out

    State
        reduction_axes (list of str, default ['time', 'freq', 'l', 'm'])
            axes of the cells that are reduced: any of time, freq, l, m; the default is all of them, an
            empty list none. Several children are added up together
        tensor_axis (int, -1 to 3, default -1)
            dimension of the tensor that is reduced as well, e.g. 0 to go from [source,2,2] to [2,2];
            -1: none

    Result: dimensions of the children without tensor_axis, unit of the children; constant along the reduced axes

    MeqTrees Sum
    """

def Tan(
    x: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Tangent.

        tan x

    Children
        x (scalar or tensor, rad)
            argument, each element by itself

    Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless

    MeqTrees Tan
    """

def TFSmearFactor(
    lmn: Child,
    uvw: Child,
    *,
    n_minus: int = ...,
    smear_time: bool = ...,
    smear_frequency: bool = ...,
    time_width_s: float = ...,
    freq_width_hz: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Loss of amplitude by averaging a source's fringes over the time and frequency width of a cell.

        sinc(pi dt nu/c (du l + dv m + dw (n-1))) sinc(pi dnu/c (u l + v m + w (n-1))), sinc(x) = sin(x)/x

    Children
        lmn ([3] or [source,3], dimensionless)
            direction cosines l, m, n with respect to the phase centre (n, not n-1)
        uvw ([2,3] or [3], m, m/s)
            coordinates of the baseline and, second row, their rates of change; without the second row
            there is no time smearing. Not of stations: the factor of a baseline is not a product of
            factors of its stations

    State
        n_minus (int, 0 to 1, default 1)
            1: fringes are stopped at the phase centre; 0: they are not
        smear_time (bool, default True)
            whether to average over the time width of the cell
        smear_frequency (bool, default True)
            whether to average over the frequency width of the cell
        time_width_s (float, at least 0 and finite, s, default 0.0)
            what smearing in time is over; 0: the width of each cell
        freq_width_hz (float, at least 0 and finite, Hz, default 0.0)
            what smearing in frequency is over; 0: the width of each cell

    Result: scalar or [source], real, dimensionless, at most 1; varies along time and freq

    Bridle & Schwab 1999, ASP Conf. Ser. 180, 371. Unlike MeqTrees' TFSmearFactor it takes a baseline's coordinates and rates, not the phases of two stations
    """

def Time(
    *,
    origin: str | None = None,
) -> NodeDef:
    """The cell-centre times as MJD in seconds (UTC).

        t

    Result: scalar, real, s; varies along time

    MeqTrees Time
    """

def ToComplex(
    re: Child,
    im: Child,
    *,
    origin: str | None = None,
) -> NodeDef:
    """Complex numbers from real and imaginary parts.

        re + i im

    Children
        re (scalar or tensor, any)
            real part
        im (scalar or tensor, that of re)
            imaginary part; a scalar applies to all elements of a tensor; tensors must have equal
            dimensions

    Result: dimensions and unit of the children; complex

    MeqTrees ToComplex
    """

def Transpose(
    x: Child,
    *,
    conj: bool = ...,
    origin: str | None = None,
) -> NodeDef:
    """Transpose of a matrix or of each matrix of a stack, with conj the conjugate transpose.

        A^T, with conj A^H

    Children
        x (any: [n,m], [source,n,m], .., any)
            matrix or stack of matrices; of scalars [] and [source] only the numbers are conjugated

    State
        conj (bool, default False)
            whether to conjugate as well

    Result: [m,n] or [source,m,n], unit and type of the child

    MeqTrees Transpose
    """

def UVW(
    radec_0: Child,
    xyz: Child,
    xyz_0: Child,
    *,
    include_deriv: bool = ...,
    dut1_s: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Coordinates u, v, w of a station as the Earth turns; a baseline's are the difference of two.

        R(ra0, dec0) C(t)^T (xyz - xyz_0), C: rotation from GCRS to ITRS (IAU 2006/2000A)

    Children
        radec_0 ([2], rad)
            right ascension and declination (ICRS) of the phase centre
        xyz ([3], m)
            position of the station (ITRF)
        xyz_0 ([3], m)
            position (ITRF) from which the coordinates are counted, e.g. the array's

    State
        include_deriv (bool, default False)
            whether the rates of change are added as a second row
        dut1_s (float, -1 to 1, s, default 0.0)
            UT1 - UTC; 0.1 s is a rotation by 1.5 arcsec

    Result: [3], m; with include_deriv [2,3], m and m/s; real, varies along time

    IERS Conventions 2010, chapter 5, by ERFA; Thompson, Moran & Swenson 2017, section 4.1; geometric, without aberration; MeqTrees UVW
    """

def VisDataMux(
    pre: Child | None = None,
    post: Child | None = None,
    *sink: Child | None,
    origin: str | None = None,
) -> NodeDef:
    """Gathers the Sinks of a tree that is run over a Measurement Set.

    Children
        pre (any, any, optional)
            evaluated before the sinks, for each group of time slots
        post (any, any, optional)
            evaluated after the sinks, for each group of time slots
        sink ([], any number)
            Sink nodes

    Result: scalar: number of sinks that wrote

    MeqTrees VisDataMux
    """

def VisPhaseShift(
    lmn: Child,
    uvw: Child,
    *,
    n_minus: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Phase of a point source's visibility on a baseline, or with station coordinates of a station.

        exp(+2 pi i nu/c (u l + v m + w (n - n_minus)))

    Children
        lmn ([3] or [source,3], dimensionless)
            direction cosines l, m, n with respect to the phase centre (n, not n-1)
        uvw ([3] or [2,3], m)
            coordinates of the baseline as stored in the Measurement Set, or of a station: K_p conj(K_q)
            is the phase of uvw_p - uvw_q; of [2,3] only the first row is used

    State
        n_minus (int, 0 to 1, default 1)
            1: the phase is zero at the phase centre (fringes stopped); 0: it is that of w n

    Result: scalar or [source], complex, dimensionless; varies along freq

    Smirnov 2011, A&A 527, A106, eq. 14; sign for UVW as stored in Measurement Sets
    """

def Voltages(
    *,
    source: list[str],
    format: Literal[
        "mwa32t",
        "mwa32t-swapped",
        "chime",
        "chime-low",
        "int4",
        "int4-low",
        "int8",
        "int8-swapped",
        "real8",
        "float32",
        "float32-swapped",
    ] = ...,
    order: str = ...,
    n_channel: int = ...,
    n_input: int,
    start_s: float = ...,
    sample_interval_s: float = ...,
    lost: Literal["error", "mask"] = ...,
    timeout_s: float = ...,
    origin: str | None = None,
) -> NodeDef:
    """Samples of antennas' voltages from files or streams, for Correlate or Channelise.

    State
        source (list of str, required)
            file without header, or of order "groups" one for each receiver; they must not change while
            the forest exists. Or where packets come from: tcp://HOST:PORT or udp://HOST:PORT of this
            machine, or shm://PATH of a ring in shared memory; what is lost there is left out. Several
            streams bring as many inputs each, in their order
        format ('mwa32t', 'mwa32t-swapped', 'chime', 'chime-low', 'int4', 'int4-low', 'int8', 'int8-swapped', 'real8', 'float32' or 'float32-swapped', default 'int8')
            how a sample is written: mwa32t or mwa32t-swapped (5+5 bits in a 16-bit word, real part low
            or high), chime, chime-low (nibbles in excess-8, real part high or low), int4, int4-low (in
            two's complement), int8, int8-swapped (two bytes, real part first or second), float32,
            float32-swapped (two floats) or real8 (one byte, real samples for Channelise)
        order (str, default 'time,channel,input')
            time, channel and input in any order, the last one the fastest, of a file or of each packet
            of a stream; or with antenna and feed instead of input (e.g. "antenna,channel,time,feed");
            or "groups": a counter of 16 bits and a word for each input of a receiver
        n_channel (int, at least 1, default 1)
            channels
        n_input (int, 1 to 65535, required)
            inputs: antennas times polarisations
        start_s (float, finite, s, default 0.0)
            when the first sample begins
        sample_interval_s (float, above 0, s, default 1.0)
            between the samples of a channel
        lost ('error' or 'mask', default 'error')
            what happens where counters of groups jump or a group is cut short: "error", or "mask": the
            samples are left out, and each product counts those that it has
        timeout_s (float, at least 0 and finite, s, default 10.0)
            for how long a stream is waited for; what has not come then is left out

    Result: [input], s: the interval between samples; samples are never all in memory

    Wayth, Greenhill & Briggs 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203
    """

def ZeroFlagger(
    x: Child,
    *,
    oper: Literal["EQ", "NE", "GE", "LE", "GT", "LT"] = ...,
    flag_bit: int = ...,
    origin: str | None = None,
) -> NodeDef:
    """Flags values that compare with zero in a given way.

        flag where x OPER 0

    Children
        x (any, any)
            values that are compared with zero

    State
        oper ('EQ', 'NE', 'GE', 'LE', 'GT' or 'LT', default 'NE')
            values are flagged if x OPER 0 is true; complex values can only be compared by EQ and NE
        flag_bit (int, of 32 bits, default 1)
            bits that are set in the flags

    Result: the child, with more flags

    MeqTrees ZeroFlagger
    """

__all__ = [
    "Abs",
    "Acos",
    "Add",
    "Arg",
    "ArrayFactor",
    "Asin",
    "Atan2",
    "Channelise",
    "ChiSquare",
    "Composer",
    "Condeq",
    "Conj",
    "ConjTranspose",
    "Constant",
    "Correlate",
    "Correlation",
    "Cos",
    "CrossedDipoles",
    "DeviceMemory",
    "DishBeam",
    "Divide",
    "Exp",
    "Freq",
    "GaussNoise",
    "Grid",
    "Identity",
    "Imag",
    "Interpolate",
    "LMN",
    "Log",
    "LogLikelihood",
    "Matrix22",
    "MatrixInvert22",
    "MatrixMultiply",
    "Max",
    "Mean",
    "MergeFlags",
    "Min",
    "Multiply",
    "Negate",
    "Norm",
    "Parm",
    "Polar",
    "Pow",
    "PSV",
    "PyNode",
    "Real",
    "Selector",
    "Shapelets",
    "Sin",
    "Sink",
    "Solver",
    "SourceShape",
    "Spectrum",
    "Spigot",
    "Sqr",
    "Sqrt",
    "Stokes",
    "Subtract",
    "Sum",
    "Tan",
    "TFSmearFactor",
    "Time",
    "ToComplex",
    "Transpose",
    "UVW",
    "VisDataMux",
    "VisPhaseShift",
    "Voltages",
    "ZeroFlagger",
]
