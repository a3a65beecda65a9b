#include "tests/support/psv_case.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "nodes/psv/reference.h"

namespace rimetree::testing {
namespace {

/// Uniform in [-1, 1], the same on every machine.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double next() { return 2.0 * (double(engine_() >> 11) / 9007199254740992.0) - 1.0; }

 private:
  std::mt19937_64 engine_;
};

oracle::Matrix random_brightness(Random& random, Polarisation kind) {
  const double i = 1.5 + random.next(), q = random.next(), u = random.next(), v = random.next();
  switch (kind) {
    case Polarisation::kUnpolarised:
      return {{i, 0, 0, i}};
    case Polarisation::kCircular:
      return {{i, oracle::Number(0, v), oracle::Number(0, -v), i}};
    case Polarisation::kFull:
      return {{i + q, oracle::Number(u, v), oracle::Number(u, -v), i - q}};
    default: {
      oracle::Matrix b;
      for (auto& e : b.e) e = {random.next(), random.next()};
      return b;
    }
  }
}

}  // namespace

Case::Case(const CaseOptions& o) : options(o) {
  make_channels();
  make_sources();
  make_rows();
  make_jones();
}

void Case::make_channels() {
  Random random(options.seed + 1000);
  const std::size_t count = options.grid == Grid::kSingle ? 1 : options.n_channel;
  for (std::size_t k = 0; k < count; ++k) {
    double step = options.spacing_hz, nu = 1.4e9 + step * double(k);
    if (options.grid == Grid::kRounded) {  // the grid itself is not representable, and widths are its differences
      nu = 1.4e9 + 1e6 / 7 * double(k);
      step = 1.4e9 + 1e6 / 7 * double(k + 1) - nu;
    }
    if (options.grid == Grid::kDescending) nu = 1.4e9 - step * double(k), step = -step;
    if (options.grid == Grid::kGapped) nu += k >= count / 3 ? 3.1e6 : 0;
    if (options.grid == Grid::kIrregular) nu += 1e5 * random.next();
    if (options.grid == Grid::kWide) nu = 9e8 + 8e8 / double(count) * double(k), step = 8e8 / double(count);
    channels.push_back({nu, step});
    frequency.push_back(nu);
    width.push_back(step);
  }
}

void Case::make_sources() {
  Random random(options.seed);
  const std::size_t n_spectrum = options.spectra ? channels.size() : 1;
  for (std::size_t s = 0; s < options.n_source; ++s) {
    oracle::Source source;
    source.l = 0.3 * random.next();
    source.m = 0.3 * random.next();
    // As the doubles that the code under test is given.
    source.n = double(std::sqrt(1 - source.l * source.l - source.m * source.m));
    Polarisation own = options.polarisation;
    if (own == Polarisation::kFew) own = s % 5 == 2 ? Polarisation::kFull : Polarisation::kUnpolarised;
    for (std::size_t f = 0; f < n_spectrum; ++f) source.brightness.push_back(random_brightness(random, own));
    if (options.smooth) {
      const oracle::Matrix first = source.brightness.front();
      const double index = -0.8 + 0.5 * random.next();
      for (std::size_t f = 0; f < n_spectrum; ++f)
        for (int e = 0; e < 4; ++e)
          source.brightness[f].e[e] = {double(first.e[e].real() * std::pow(frequency[f] / 1.4e9, index)),
                                       double(first.e[e].imag() * std::pow(frequency[f] / 1.4e9, index))};
    }
    if (options.dark_source && s == 0)
      for (oracle::Matrix& b : source.brightness) b.e[3] = -b.e[0];
    if (extended() && s % 2 == 0) {
      // From hardly to hopelessly resolved.
      const double size = std::pow(10.0, random.next()) / options.phase_rad;
      source.major = size;
      source.minor = double(0.4 * size);
      source.position_angle = 3 * random.next();
      if (options.disks && (!options.gaussians || s % 4 == 0)) source.profile = 1 + static_cast<int>(s / 4 % 2);
    }
    if (axes_are_vectors()) {
      const oracle::Real turned[] = {std::sin(source.position_angle), std::cos(source.position_angle)};
      const double vectors[2][3] = {
          {double(source.major * turned[0]), double(source.major * turned[1]), double(source.major * random.next())},
          {double(source.minor * turned[1]), double(-source.minor * turned[0]), double(source.minor * random.next())}};
      for (int a = 0; a < 2; ++a)
        for (int i = 0; i < 3; ++i) source.axes[a][i] = vectors[a][i], axes.push_back(vectors[a][i]);
    }
    sources.push_back(source);
    l.push_back(source.l);
    m.push_back(source.m);
    n.push_back(source.n);
    major.push_back(source.major);
    minor.push_back(source.minor);
    angle.push_back(source.position_angle);
    profile.push_back(source.profile);
  }
  for (int e = 0; e < 4; ++e)
    for (const oracle::Source& s : sources)
      for (const oracle::Matrix& b : s.brightness) brightness.push_back({double(b.e[e].real()), double(b.e[e].imag())});
}

void Case::make_rows() {
  Random random(options.seed + 2000);
  const double scale = options.phase_rad * 299792458.0 / (6.283 * 1.4e9) / 0.3;
  for (std::size_t i = 0; i < options.n_baseline * options.n_time; ++i) {
    // Short and long baselines in one set: each has its own best method.
    const double length =
        scale * std::pow(10.0, -2.0 + 2.0 * double(i / options.n_time + 1) / double(options.n_baseline));
    oracle::Row r{length * random.next(), length * random.next(), 0.5 * length * random.next(), 0, 0, 0, 0};
    if (options.smearing) {
      r.du = 7.3e-5 * length * random.next();
      r.dv = 7.3e-5 * length * random.next();
      r.dw = 7.3e-5 * length * random.next();
      r.exposure = options.exposure_s * (1 + 0.3 * random.next());
    }
    rows.push_back(r);
    const double position[3] = {r.u, r.v, r.w}, rate[3] = {r.du, r.dv, r.dw};
    for (int k = 0; k < 3; ++k) uvw[k].push_back(position[k]), duvw[k].push_back(rate[k]);
    exposure.push_back(r.exposure);
    row_baseline.push_back(std::int32_t(i / options.n_time));
    row_time.push_back(std::int32_t(i % options.n_time));
  }
}

void Case::make_jones() {
  if (options.jones == JonesKind::kNone) return;
  if (options.jones == JonesKind::kAntennas) return make_antenna_jones();
  Random random(options.seed + 3000);
  const bool two = options.jones == JonesKind::kTwoPairs || options.jones == JonesKind::kVarying;
  n_pair = two ? 2 : 1;
  const std::ptrdiff_t nt = options.jones == JonesKind::kScalar ? 1 : options.n_time;
  const std::ptrdiff_t nf = options.jones == JonesKind::kVarying ? channels.size() : 1;
  const std::size_t block = options.n_source * nt * nf;
  jones_values.resize(options.n_baseline * n_pair * 2 * 4 * block);
  for (auto& z : jones_values) z = {random.next(), random.next()};
  for (std::size_t b = 0; b < options.n_baseline; ++b)
    for (int k = 0; k < n_pair; ++k) {
      psv::JonesPair<double> pair;
      pair.p_is_matrix = pair.q_is_matrix = options.jones != JonesKind::kScalar;
      if (k == 1) pair.p_is_matrix = false;  // a scalar and a matrix in one pair
      for (int e = 0; e < 4; ++e) {
        const Complex<double>* at = jones_values.data() + ((b * n_pair + k) * 8 + e) * block;
        pair.p[e] = {at, nt * nf, nt > 1 ? nf : 0, nf > 1 ? 1 : 0};
        pair.q[e] = {at + 4 * block, nt * nf, nt > 1 ? nf : 0, nf > 1 ? 1 : 0};
      }
      jones_pairs.push_back(pair);
    }
}

void Case::make_antenna_jones() {
  Random random(options.seed + 3000);
  n_pair = 1;
  const std::ptrdiff_t nt = options.n_time, nf = channels.size(), block = options.n_source * nt * nf;
  std::size_t n_antenna = 2;
  while (n_antenna * (n_antenna - 1) / 2 < options.n_baseline) ++n_antenna;
  jones_values.resize(n_antenna * 4 * block);
  for (auto& z : jones_values) z = {random.next(), random.next()};
  for (std::size_t p = 0; p < n_antenna; ++p)
    for (std::size_t q = p + 1; q < n_antenna; ++q) {
      psv::JonesPair<double> pair;
      pair.p_is_matrix = pair.q_is_matrix = true;
      for (int e = 0; e < 4; ++e) {
        pair.p[e] = {jones_values.data() + (p * 4 + e) * block, nt * nf, nf, 1};
        pair.q[e] = {jones_values.data() + (q * 4 + e) * block, nt * nf, nf, 1};
      }
      jones_pairs.push_back(pair);
    }
}

oracle::Matrix Case::jones_at(std::size_t baseline, int k, int side, std::size_t s, std::size_t t,
                              std::size_t f) const {
  const psv::JonesPair<double>& pair = jones_pairs[baseline * n_pair + k];
  const bool matrix = side == 0 ? pair.p_is_matrix : pair.q_is_matrix;
  oracle::Matrix j;
  for (int e = 0; e < 4; ++e) {
    const Complex<double> z = (side == 0 ? pair.p : pair.q)[matrix ? e : 0].at(s, t, f);
    if (matrix || e == 0 || e == 3) j.e[e] = {z.re, z.im};
  }
  return side == 1 ? adjoint(j) : j;
}

double Case::total_flux() const {
  double flux = 0;
  const std::size_t n_spectrum = brightness.size() / 4 / sources.size();
  for (std::size_t s = 0; s < sources.size(); ++s) {
    double largest = 0;
    for (int e = 0; e < 4; ++e)
      for (std::size_t f = 0; f < n_spectrum; ++f)
        largest = std::max(largest, abs(brightness[(e * sources.size() + s) * n_spectrum + f]));
    flux += largest;
  }
  // A Jones matrix of elements up to sqrt(2) may raise an element of X by 2 * sqrt(2), twice per pair.
  return flux * std::pow(8.0, n_pair);
}

oracle::Matrix Case::expected_at(std::size_t r, std::size_t f) const {
  std::vector<oracle::Matrix> p, q;
  for (std::size_t s = 0; n_pair > 0 && s < sources.size(); ++s) {
    p.push_back(jones_at(row_baseline[r], 0, 0, s, row_time[r], f));
    q.push_back(jones_at(row_baseline[r], 0, 1, s, row_time[r], f));
    if (n_pair == 2) {
      p.back() = jones_at(row_baseline[r], 1, 0, s, row_time[r], f) * p.back();
      q.back() = jones_at(row_baseline[r], 1, 1, s, row_time[r], f) * q.back();
    }
  }
  oracle::Channel channel = channels[f];
  if (!options.smearing) channel.width = 0;
  return oracle::visibility(sources, rows[r], channel, f, p, q);
}

std::vector<oracle::Number> Case::expected() const {
  std::vector<oracle::Number> out(n_row() * 4 * n_channel());
  for (std::size_t r = 0; r < n_row(); ++r)
    for (std::size_t f = 0; f < n_channel(); ++f) {
      const oracle::Matrix v = expected_at(r, f);
      for (int e = 0; e < 4; ++e) out[(r * 4 + e) * n_channel() + f] = v.e[e];
    }
  return out;
}

psv::SkyInput Case::sky_input() const {
  psv::SkyInput in;
  in.n_source = sources.size();
  in.n_channel = n_channel();
  in.brightness_varies = options.spectra;
  in.with_jones = n_pair > 0;
  in.l = {l.data(), 1, 0, 0};
  in.m = {m.data(), 1, 0, 0};
  in.n = {n.data(), 1, 0, 0};
  const std::ptrdiff_t spectrum = options.spectra ? n_channel() : 1;
  for (int e = 0; e < 4; ++e)
    in.brightness[e] = {brightness.data() + e * sources.size() * spectrum, spectrum, 0, options.spectra ? 1 : 0};
  if (options.disks) in.profile = {profile.data(), 1, 0, 0};
  if (axes_are_vectors())
    for (std::size_t i = 0; i < 6; ++i) in.axes[i] = {axes.data() + i, 6, 0, 0};
  else if (extended()) {
    in.major = {major.data(), 1, 0, 0};
    in.minor = {minor.data(), 1, 0, 0};
    in.position_angle = {angle.data(), 1, 0, 0};
  }
  return in;
}

psv::Rows Case::psv_rows() const {
  psv::Rows r;
  r.n_row = n_row();
  r.u = uvw[0].data(), r.v = uvw[1].data(), r.w = uvw[2].data();
  if (options.smearing) r.du = duvw[0].data(), r.dv = duvw[1].data(), r.dw = duvw[2].data();
  if (options.smearing) r.exposure_s = exposure.data();
  r.baseline = row_baseline.data();
  r.time = row_time.data();
  return r;
}

psv::Problem<double> Case::problem(std::size_t baseline) const {
  const psv::SkyInput in = sky_input();
  psv::Problem<double> x;
  x.n_source = in.n_source;
  x.n_time = options.n_time;
  x.n_channel = n_channel();
  x.l = in.l, x.m = in.m, x.n = in.n;
  x.major = in.major, x.minor = in.minor, x.position_angle = in.position_angle, x.profile = in.profile;
  std::copy_n(in.axes, 6, x.axes);
  for (int e = 0; e < 4; ++e) x.brightness[e] = in.brightness[e];
  const std::size_t first = baseline * options.n_time;
  psv::Strided<double>* view[6] = {&x.u, &x.v, &x.w, &x.du, &x.dv, &x.dw};
  for (int k = 0; k < (options.smearing ? 6 : 3); ++k)
    *view[k] = {(k < 3 ? uvw[k] : duvw[k - 3]).data() + first, 0, 1, 0};
  x.jones = n_pair > 0 ? &jones_pairs[baseline * n_pair] : nullptr;
  x.n_jones = n_pair;
  x.frequency_hz = frequency.data();
  x.width_hz = width.data();
  x.exposure_s = exposure.data() + first;
  return x;
}

template <class T>
std::vector<Complex<double>> Case::fast(std::vector<std::size_t> cuts) const {
  const psv::Sky<T> sky = psv::pack_sky<T>(sky_input());
  const psv::Channels grid = psv::analyse_channels(frequency.data(), width.data(), n_channel());
  const psv::JonesTerms jones{n_pair, jones_pairs.data(), jones_vary()};
  const double kUnwritten = -12345;
  std::vector<Complex<double>> out(n_row() * 4 * n_channel(), {kUnwritten, kUnwritten});
  std::vector<Complex<double>*> row;
  for (std::size_t r = 0; r < n_row(); ++r) row.push_back(out.data() + r * 4 * n_channel());
  cuts.push_back(n_row());
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    psv::Workspace<T> workspace(sky, grid, jones);
    psv::evaluate_rows(sky, grid, psv_rows(), jones, begin, end, workspace, {row.data(), std::ptrdiff_t(n_channel())});
    begin = end;
  }
  return out;
}

template std::vector<Complex<double>> Case::fast<float>(std::vector<std::size_t>) const;
template std::vector<Complex<double>> Case::fast<double>(std::vector<std::size_t>) const;

std::vector<Complex<double>> Case::reference() const {
  std::vector<Complex<double>> out(n_row() * 4 * n_channel()), plane(options.n_time * 4 * n_channel());
  for (std::size_t b = 0; b < options.n_baseline; ++b) {
    psv::evaluate_reference(problem(b), plane.data());
    for (std::size_t t = 0; t < options.n_time; ++t)
      for (std::size_t e = 0; e < 4; ++e)
        for (std::size_t f = 0; f < n_channel(); ++f)
          out[((b * options.n_time + t) * 4 + e) * n_channel() + f] = plane[(e * options.n_time + t) * n_channel() + f];
  }
  return out;
}

double largest_error(const std::vector<Complex<double>>& got, const std::vector<oracle::Number>& expected,
                     double flux) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = static_cast<double>(std::abs(oracle::Number(got[i].re, got[i].im) - expected[i]));
    worst = error > worst || std::isnan(error) ? error : worst;
    if (std::isnan(error)) return error;
  }
  return worst / flux;
}

}  // namespace rimetree::testing
