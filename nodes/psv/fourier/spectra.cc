#include "nodes/psv/fourier/spectra.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/core/values/largest_error.h"

namespace rimetree::psv::fourier {
namespace {

/// Where a plane of the kernel's sky goes: which grid's plane, and whether as its real or its imaginary part.
struct Target {
  Plane plane;
  bool imaginary;
};

Target target_of(Plane plane) {
  if (plane <= Plane::kV) return {plane, false};
  const int i = static_cast<int>(plane) - static_cast<int>(Plane::kXxRe);
  return {static_cast<Plane>(static_cast<int>(Plane::kXxRe) + i / 2 * 2), i % 2 == 1};
}

/// Spectra of all sources, and the flux that errors are fractions of.
struct Spectra {
  std::size_t n_source, n_channel, n_plane;
  const std::vector<double>& weights;  ///< [source][channel][plane]
  double total_flux;
  double at(std::size_t s, std::size_t f, std::size_t plane) const {
    return weights[(s * n_channel + f) * n_plane + plane];
  }
};

bool is_zero(const Spectra& spectra, std::size_t plane) {
  for (std::size_t s = 0; s < spectra.n_source; ++s)
    for (std::size_t f = 0; f < spectra.n_channel; ++f)
      if (!(spectra.at(s, f, plane) == 0)) return false;
  return true;
}

/// Chebyshev coefficients of the polynomial through a spectrum's values at the channels nearest to the Chebyshev
/// points.
class SpectrumFit {
 public:
  SpectrumFit(std::size_t n_term, std::size_t n_channel) : n_term_(n_term) {
    std::vector<long double> a;
    for (std::size_t i = 0; i < n_term; ++i) {
      const double x = chebyshev_point(static_cast<int>(i), static_cast<int>(n_term));
      channel_.push_back(static_cast<std::size_t>(std::lround(0.5 * (x + 1) * double(n_channel - 1))));
      const long double at = 2.0L * channel_.back() / (n_channel - 1) - 1;
      long double before = at, now = 1;
      for (std::size_t j = 0; j < n_term; ++j) {
        a.push_back(now);
        const long double next = 2 * at * now - before;
        before = now;
        now = next;
      }
    }
    invert(a);
  }

  /// The transpose of coefficients().
  template <class F>
  void pull_back(const double* c, F&& add) const {
    for (std::size_t i = 0; i < n_term_; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n_term_; ++j) sum += inverse_[j * n_term_ + i] * c[j];
      add(channel_[i], sum);
    }
  }
  template <class F>
  void coefficients(F&& value, double* c) const {
    for (std::size_t j = 0; j < n_term_; ++j) {
      c[j] = 0;
      for (std::size_t i = 0; i < n_term_; ++i) c[j] += inverse_[j * n_term_ + i] * value(channel_[i]);
    }
  }

 private:
  /// Gauss-Jordan with pivots; the matrix is close to an orthogonal one.
  void invert(std::vector<long double> a) {
    const std::size_t n = n_term_;
    std::vector<long double> b(n * n, 0.0L);
    for (std::size_t i = 0; i < n; ++i) b[i * n + i] = 1;
    for (std::size_t column = 0; column < n; ++column) {
      std::size_t pivot = column;
      for (std::size_t i = column; i < n; ++i)
        if (std::abs(a[i * n + column]) > std::abs(a[pivot * n + column])) pivot = i;
      for (std::size_t j = 0; j < n; ++j) {
        std::swap(a[column * n + j], a[pivot * n + j]);
        std::swap(b[column * n + j], b[pivot * n + j]);
      }
      const long double scale = 1 / a[column * n + column];
      for (std::size_t j = 0; j < n; ++j) a[column * n + j] *= scale, b[column * n + j] *= scale;
      for (std::size_t i = 0; i < n; ++i) {
        const long double factor = a[i * n + column];
        if (i == column || factor == 0) continue;
        for (std::size_t j = 0; j < n; ++j) {
          a[i * n + j] -= factor * a[column * n + j];
          b[i * n + j] -= factor * b[column * n + j];
        }
      }
    }
    inverse_.assign(b.begin(), b.end());
  }

  std::size_t n_term_;
  std::vector<std::size_t> channel_;
  std::vector<double> inverse_;
};

/// Made once for each pair of numbers: skies that vary in time are expanded at each time.
const SpectrumFit& spectrum_fit(std::size_t n_term, std::size_t n_channel) {
  static std::mutex mutex;
  static std::map<std::pair<std::size_t, std::size_t>, SpectrumFit> made;
  const std::lock_guard lock(mutex);
  return made.try_emplace({n_term, n_channel}, n_term, n_channel).first->second;
}

/// Sum over sources of the largest misfit over every `stride`-th channel, all planes added: a bound (for stride 1) of
/// what any correlation is wrong by. NaN where some brightness is: a series would hide it, or spread it over the band.
double largest_misfit(const Spectra& sky, const std::vector<double>& c, std::size_t n_term, std::size_t stride) {
  const std::size_t n_channel = sky.n_channel, n_plane = sky.n_plane;
  std::vector<double> basis((n_term + 1) * n_channel), misfit(n_channel);
  std::size_t n = 0;
  for (std::size_t f = 0; f < n_channel; f += stride, ++n) {
    const double x = 2.0 * double(f) / double(n_channel - 1) - 1;
    for (std::size_t j = 0; j < n_term; ++j)
      basis[j * n_channel + n] = j == 0   ? 1
                                 : j == 1 ? x
                                          : 2 * x * basis[(j - 1) * n_channel + n] - basis[(j - 2) * n_channel + n];
  }
  double total = 0;
  for (std::size_t s = 0; s < sky.n_source; ++s) {
    double worst = 0;
    for (std::size_t p = 0; p < n_plane; ++p) {
      const double* w = sky.weights.data() + s * n_channel * n_plane + p;
      const double* coefficient = c.data() + (s * n_plane + p) * n_term;
      for (std::size_t i = 0; i < n; ++i) misfit[i] = w[i * stride * n_plane];
      for (std::size_t j = 0; j < n_term; ++j)
        for (std::size_t i = 0; i < n; ++i) misfit[i] -= coefficient[j] * basis[j * n_channel + i];
      double largest = 0;
      for (std::size_t i = 0; i < n; ++i) keep_larger(largest, std::abs(misfit[i]));
      worst += largest;
    }
    total += worst;
  }
  return total;
}

/// What a try of a number of terms takes per source, plane, term and number looked at, in seconds.
constexpr double kTrySeconds = 1e-9;

/// Some of the sources, which tell what may do for all.
class Probe {
 public:
  explicit Probe(const Spectra& all) : every_(std::max<std::size_t>(1, all.n_source / kMost)) {
    const std::size_t each = all.n_channel * all.n_plane;
    for (std::size_t s = 0; s < all.n_source; s += every_, ++n_source_)
      weights_.insert(weights_.end(), all.weights.begin() + static_cast<std::ptrdiff_t>(s * each),
                      all.weights.begin() + static_cast<std::ptrdiff_t>((s + 1) * each));
    n_channel_ = all.n_channel, n_plane_ = all.n_plane;
    for (std::size_t s = 0; s < n_source_; ++s)
      for (std::size_t p = 0; p < n_plane_; ++p) {
        double largest = 0;
        for (std::size_t f = 0; f < n_channel_; ++f) keep_larger(largest, std::abs(spectra().at(s, f, p)));
        flux_ += largest;
      }
  }
  Spectra spectra() const { return {n_source_, n_channel_, n_plane_, weights_, flux_}; }
  bool is_all() const { return every_ == 1; }

 private:
  static constexpr std::size_t kMost = 512;
  std::size_t every_, n_source_ = 0, n_channel_ = 0, n_plane_ = 0;
  double flux_ = 0;  // the largest of each plane, which is more than errors are fractions of
  std::vector<double> weights_;
};

/// Series of so many terms, [source][plane][term].
std::vector<double> series_of(const Spectra& sky, std::size_t n_term) {
  const SpectrumFit& fit = spectrum_fit(n_term, sky.n_channel);
  std::vector<double> c(sky.n_source * sky.n_plane * n_term);
  for (std::size_t s = 0; s < sky.n_source; ++s)
    for (std::size_t p = 0; p < sky.n_plane; ++p)
      fit.coefficients([&](std::size_t f) { return sky.at(s, f, p); }, c.data() + (s * sky.n_plane + p) * n_term);
  return c;
}

/// The most terms of a series: through a few channels it may go exactly, through more it would swing between them.
std::size_t most_terms(std::size_t n_channel) {
  constexpr std::size_t kFewChannels = 6;
  return std::min<std::size_t>(kMaxTerms, std::max(n_channel / 4, std::min(n_channel, kFewChannels)));
}

/// The shortest series for all spectra, [source][plane][term]; empty if none is good enough, or if it takes longer than
/// that to find one. The number of terms is found on a few sources and channels and proven on all.
std::vector<double> fit_spectra(const Spectra& sky, double error, double worth_seconds, SeriesSky& to) {
  constexpr double kSlack = 2;  // what a few sources say may be so wrong
  const std::size_t sparse = std::max<std::size_t>(1, sky.n_channel / 97);
  const Probe probe(sky);
  double spent_seconds = 0;
  const auto may_do = [&](const Spectra& spectra, double allowed, std::vector<double>& c) {
    const auto looked_at = static_cast<double>(to.n_term + sky.n_channel / sparse);
    spent_seconds += kTrySeconds * static_cast<double>(spectra.n_source * sky.n_plane * to.n_term) * looked_at;
    if (spent_seconds > worth_seconds) return false;
    c = series_of(spectra, to.n_term);
    return largest_misfit(spectra, c, to.n_term, sparse) <= allowed * spectra.total_flux;
  };
  std::vector<double> c;
  for (to.n_term = 1; to.n_term <= most_terms(sky.n_channel) && spent_seconds <= worth_seconds; ++to.n_term) {
    if ((!probe.is_all() && !may_do(probe.spectra(), kSlack * error, c)) || !may_do(sky, error, c)) continue;
    const double misfit = largest_misfit(sky, c, to.n_term, 1);
    to.series_error = sky.total_flux > 0 ? misfit / sky.total_flux : 0;
    if (to.series_error <= error) return c;
  }
  to.in_parts = spent_seconds <= worth_seconds && sky.n_channel > 1;
  to.obstacle =
      to.in_parts ? "the spectra need too many terms" : "the spectra need too many terms for so little to sum up";
  return {};
}

/// Directions and shapes.
SeriesSky places_of(const Sky<double>& sky) {
  SeriesSky to;
  to.n_source = sky.n_source;
  to.n_point = sky.n_point;
  to.alike = sky.alike();
  const auto padded = [&](const std::vector<double>& values) {
    std::vector<double> copy = values;
    copy.resize(values.size() + kSourcePad, 0.0);
    return copy;
  };
  to.l = padded(sky.l), to.m = padded(sky.m), to.n_high = padded(sky.n_high), to.n_low = padded(sky.n_low);
  to.axes = sky.axes;
  to.stokes = sky.planes.empty() || sky.planes.front() <= Plane::kV;
  return to;
}

void include_plane(SeriesSky& to, Plane plane) {
  const Plane target = target_of(plane).plane;
  if (std::find(to.planes.begin(), to.planes.end(), target) == to.planes.end()) to.planes.push_back(target);
}

/// Weights of all planes that are there, from the coefficients of series, [source][plane of the spectra][term].
void set_weights(SeriesSky& to, const std::vector<Plane>& planes, const std::vector<double>& c) {
  to.weight.assign(to.n_source * to.planes.size() * to.n_term, {});
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto [q, imaginary] = plane_in(to, planes[p]);
    if (q == to.planes.size()) continue;
    for (std::size_t s = 0; s < to.n_source; ++s)
      for (std::size_t j = 0; j < to.n_term; ++j) {
        Complex<double>& w = to.weight[(s * to.planes.size() + q) * to.n_term + j];
        (imaginary ? w.im : w.re) = c[(s * planes.size() + p) * to.n_term + j];
      }
  }
}

}  // namespace

SeriesPlane plane_in(const SeriesSky& sky, Plane plane) {
  const Target target = target_of(plane);
  const auto found = std::find(sky.planes.begin(), sky.planes.end(), target.plane);
  return {static_cast<std::size_t>(found - sky.planes.begin()), target.imaginary};
}

void pull_back_series(std::size_t n_term, std::size_t n_channel, const double* terms, double* weights,
                      std::size_t stride) {
  if (n_channel == 1) {
    *weights += *terms;
    return;
  }
  spectrum_fit(n_term, n_channel).pull_back(terms, [&](std::size_t f, double gained) {
    weights[f * stride] += gained;
  });
}

std::size_t split_of_band(const Sky<double>& sky, bool moves) {
  constexpr double kKink = 6;  // times what is usual between channels
  const Probe probe(
      {sky.n_source, sky.n_weight_channel, sky.planes.size(), moves ? sky.tangent_weights : sky.weights, 0});
  const Spectra spectra = probe.spectra();
  const std::size_t n = spectra.n_channel;
  std::vector<double> bend(n, 0.0), beside;  // at a channel; at the two channels beside a division
  for (std::size_t s = 0; s < spectra.n_source; ++s)
    for (std::size_t p = 0; p < spectra.n_plane; ++p)
      for (std::size_t f = 1; f + 1 < n; ++f) {
        const double own = spectra.at(s, f + 1, p) - 2 * spectra.at(s, f, p) + spectra.at(s, f - 1, p);
        if (std::isfinite(own)) bend[f] += std::abs(own);
      }
  for (std::size_t f = 1; f < n; ++f) beside.push_back(bend[f - 1] + bend[f]);
  const auto most = std::max_element(beside.begin(), beside.end());
  const std::size_t at = static_cast<std::size_t>(most - beside.begin()) + 1;
  const double largest = *most;
  std::nth_element(beside.begin(), beside.begin() + static_cast<std::ptrdiff_t>(beside.size() / 2), beside.end());
  return largest > kKink * beside[beside.size() / 2] ? at : n / 2;
}

SeriesSky expand_sky(const Sky<double>& sky, double error, double worth_seconds) {
  SeriesSky to = places_of(sky);
  const std::size_t n_plane = sky.planes.size();
  const Spectra spectra{sky.n_source, sky.n_weight_channel, n_plane, sky.weights, sky.total_flux};
  std::vector<double> c = sky.weights;  // constant spectra: one term
  if (sky.n_weight_channel > 1) c = fit_spectra(spectra, error, worth_seconds, to);
  if (!to.obstacle.empty() && n_plane > 0 && sky.n_source > 0) return to;
  to.obstacle.clear();
  for (std::size_t p = 0; p < n_plane; ++p)
    if (!is_zero(spectra, p)) include_plane(to, sky.planes[p]);
  set_weights(to, sky.planes, c);
  return to;
}

SeriesSky expand_moves(const Sky<double>& sky, double error, double worth_seconds) {
  SeriesSky to = places_of(sky);
  for (const Plane plane : sky.planes) include_plane(to, plane);
  const std::size_t each = sky.n_weight_channel * sky.planes.size();
  const bool known = sky.tangent_weights.size() == sky.n_source * each;
  if (sky.n_weight_channel == 1) {
    if (known) set_weights(to, sky.planes, sky.tangent_weights);
    return to;
  }
  if (!known) {
    to.obstacle = "nobody knows how spectra move";
    return to;
  }
  double total = 0;
  for (std::size_t s = 0; s < sky.n_source; ++s) {
    double largest = 0;
    for (std::size_t i = s * each; i < (s + 1) * each; ++i) keep_larger(largest, std::abs(sky.tangent_weights[i]));
    total += largest;
  }
  const std::vector<double> c = fit_spectra(
      {sky.n_source, sky.n_weight_channel, sky.planes.size(), sky.tangent_weights, total}, error, worth_seconds, to);
  if (to.obstacle.empty()) set_weights(to, sky.planes, c);
  return to;
}

}  // namespace rimetree::psv::fourier
