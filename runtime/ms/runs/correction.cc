#include "runtime/ms/runs/correction.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/math/jones.h"
#include "runtime/ms/runs/finite.h"

namespace rimetree::ms {

namespace {

/// A correlation as an element of a matrix [2,2]; Stokes I is half the sum of both feeds.
struct Element {
  std::size_t left = 0, right = 0;
  bool stokes_i = false;
};

std::vector<Element> elements_of(const Tile& tile) {
  std::vector<Element> elements;
  for (const int type : tile.correlation_type) {
    if (type == 1 && tile.n_correlation() == 1) {
      elements.push_back({0, 1, true});
      continue;
    }
    if (type < 5 || type > 12)
      throw Error("the data have correlation type " + std::to_string(type) +
                  "; supported are XX XY YX YY (9-12), RR RL LR LL (5-8), and Stokes I (1) alone");
    const auto e = static_cast<std::size_t>((type - 5) % 4);
    elements.push_back({e / 2, e % 2, false});
  }
  return elements;
}

/// What was counted on one baseline.
struct BaselineCounts {
  std::int64_t all = 0, good = 0, lost = 0, not_finite = 0;
  std::array<std::array<std::int64_t, kReasons>, 2> because{};  ///< by end
  bool usable = false;
};

/// Corrects one baseline of a tile.
class Baselines {
 public:
  Baselines(Tile& tile, std::vector<std::complex<float>>& values, const InverseJones& jones)
      : tile_(tile), values_(values), jones_(jones), elements_(elements_of(tile)) {
    if (!values.empty() && jones.inverse.empty()) throw Error("there are values to correct, but no matrices");
    if (jones.time.size() != tile.n_time() || jones.frequency.size() != tile.n_channel())
      throw Error("matrices are for " + std::to_string(jones.time.size()) + " times and " +
                  std::to_string(jones.frequency.size()) + " channels, but the tile has " +
                  std::to_string(tile.n_time()) + " and " + std::to_string(tile.n_channel()));
    if (!jones.diagonal && elements_.size() != 4) throw Error("matrices that mix feeds need all four correlations");
    for (std::size_t c = 0; c < elements_.size(); ++c)
      if (!elements_[c].stokes_i) place_[elements_[c].left * 2 + elements_[c].right] = c;
    bad_.resize(jones.antennas.size());
    const std::size_t of_antenna = jones.n_time * jones.n_frequency * 2;
    for (std::size_t a = 0; a < bad_.size(); ++a)
      bad_[a] = std::any_of(&jones.reason[a * of_antenna], &jones.reason[a * of_antenna] + of_antenna,
                            [](std::uint8_t reason) { return reason != 0; });
  }

  BaselineCounts run(std::size_t baseline) const {
    BaselineCounts counts;
    const std::size_t p = jones_.place(tile_.baselines[baseline].antenna1),
                      q = jones_.place(tile_.baselines[baseline].antenna2);
    const std::size_t n = tile_.n_channel() * elements_.size();
    std::vector<Complex<double>> factors;
    std::size_t known = ~std::size_t{0};  // for which of the times
    for (std::size_t t = 0; t < tile_.n_time(); ++t) {
      const std::size_t row = baseline * tile_.n_time() + t;
      if (tile_.row[row] < 0) continue;
      std::complex<float>* values = values_.empty() ? nullptr : &values_[row * n];
      std::uint8_t* flags = &tile_.flag[row * n];
      counts.all += static_cast<std::int64_t>(n);
      const std::int64_t good = std::count(flags, flags + n, std::uint8_t{0});
      counts.good += good;
      if (values != nullptr && jones_.diagonal) {
        if (known != jones_.time[t]) fill_factors(p, q, t, factors);
        known = jones_.time[t];
        multiply(factors, values);
      } else if (values != nullptr) {
        multiply(p, q, t, values);
      }
      std::vector<std::uint8_t> before;
      if (!jones_.diagonal && good > 0 && good < static_cast<std::int64_t>(n)) before.assign(flags, flags + n);
      if (bad_[p] || bad_[q])
        flag_without_solution(p, q, t, flags, counts);
      else
        counts.usable = true;
      if (!before.empty()) counts.not_finite += flag_whole_matrices(before, flags);
      if (values != nullptr) counts.not_finite += flag_not_finite({values, n}, {flags, n});
    }
    return counts;
  }

 private:
  /// What correlations are multiplied by, [frequency of the matrices, correlation].
  void fill_factors(std::size_t p, std::size_t q, std::size_t t, std::vector<Complex<double>>& factors) const {
    factors.clear();
    const Complex<double>*left = &jones_.inverse[2 * (p * jones_.n_time + jones_.time[t]) * jones_.n_frequency],
          *right = &jones_.inverse[2 * (q * jones_.n_time + jones_.time[t]) * jones_.n_frequency];
    for (std::size_t f = 0; f < jones_.n_frequency; ++f)
      for (const Element& element : elements_) {
        const auto factor = [&](std::size_t i, std::size_t j) { return left[2 * f + i] * conj(right[2 * f + j]); };
        factors.push_back(element.stokes_i ? (factor(0, 0) + factor(1, 1)) * 0.5 : factor(element.left, element.right));
      }
  }

  void multiply(const std::vector<Complex<double>>& factors, std::complex<float>* values) const {
    const std::size_t n = elements_.size();
    for (std::size_t f = 0; f < tile_.n_channel(); ++f, values += n) {
      const Complex<double>* factor = &factors[jones_.frequency[f] * n];
      for (std::size_t c = 0; c < n; ++c) {
        const Complex<double> value = Complex<double>{values[c].real(), values[c].imag()} * factor[c];
        values[c] = {static_cast<float>(value.re), static_cast<float>(value.im)};
      }
    }
  }

  void multiply(std::size_t p, std::size_t q, std::size_t t, std::complex<float>* values) const {
    const auto matrix = [&](std::size_t antenna, std::size_t f) {
      const Complex<double>* from = &jones_.inverse[4 * jones_.cell(antenna, t, f)];
      return Jones<double>{from[0], from[1], from[2], from[3]};
    };
    for (std::size_t f = 0; f < tile_.n_channel(); ++f, values += 4) {
      const auto value = [&](std::size_t e) {
        return Complex<double>{values[place_[e]].real(), values[place_[e]].imag()};
      };
      const Jones<double> result =
          matrix(p, f) * Jones<double>{value(0), value(1), value(2), value(3)} * hermitian(matrix(q, f));
      const auto set = [&](std::size_t e, Complex<double> z) {
        values[place_[e]] = {static_cast<float>(z.re), static_cast<float>(z.im)};
      };
      set(0, result.xx), set(1, result.xy), set(2, result.yx), set(3, result.yy);
    }
  }

  /// Where one correlation was flagged before all are, since each result is made of all four.
  static std::int64_t flag_whole_matrices(const std::vector<std::uint8_t>& before, std::uint8_t* flags) {
    std::int64_t fresh = 0;
    for (std::size_t i = 0; i < before.size(); i += 4) {
      if (std::count(&before[i], &before[i] + 4, std::uint8_t{0}) == 4) continue;
      fresh += std::count(flags + i, flags + i + 4, std::uint8_t{0});
      std::fill(flags + i, flags + i + 4, std::uint8_t{1});
    }
    return fresh;
  }

  void flag_without_solution(std::size_t p, std::size_t q, std::size_t t, std::uint8_t* flags,
                             BaselineCounts& counts) const {
    for (std::size_t f = 0; f < tile_.n_channel(); ++f) {
      const std::uint8_t *left = &jones_.reason[2 * jones_.cell(p, t, f)],
                         *right = &jones_.reason[2 * jones_.cell(q, t, f)];
      for (const Element& element : elements_) {
        std::uint8_t& flag = *flags++;
        const std::uint8_t reasons[2] = {element.stokes_i ? std::max(left[0], left[1]) : left[element.left],
                                         element.stokes_i ? std::max(right[0], right[1]) : right[element.right]};
        if (reasons[0] == 0 && reasons[1] == 0) {
          counts.usable = true;
          continue;
        }
        if (flag != 0) continue;
        flag = 1;
        ++counts.lost;
        for (const std::size_t end : {0, 1})
          if (reasons[end] != 0) ++counts.because[end][std::min<std::size_t>(reasons[end], kReasons - 1)];
      }
    }
  }

  Tile& tile_;
  std::vector<std::complex<float>>& values_;
  const InverseJones& jones_;
  std::vector<Element> elements_;
  std::array<std::size_t, 4> place_{};  ///< of matrix elements among the correlations
  std::vector<std::uint8_t> bad_;       ///< antennas without a solution somewhere
};

}  // namespace

std::size_t InverseJones::place(int antenna) const {
  const auto found = std::lower_bound(antennas.begin(), antennas.end(), antenna);
  if (found == antennas.end() || *found != antenna)
    throw Error("there is no Jones matrix for antenna " + std::to_string(antenna));
  return static_cast<std::size_t>(found - antennas.begin());
}

FlagCounts::FlagCounts(std::vector<int> ids)
    : antennas(std::move(ids)),
      all_of(antennas.size()),
      good_of(antennas.size()),
      lost_of(antennas.size()),
      because_of(antennas.size()) {}

bool correct(Tile& tile, std::vector<std::complex<float>>& values, const InverseJones& jones, FlagCounts& counts,
             ThreadPool& threads) {
  const Baselines baselines(tile, values, jones);
  std::vector<BaselineCounts> found(tile.n_baseline());
  threads.parallel_for(found.size(), 8, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t k = begin; k < end; ++k) found[k] = baselines.run(k);
  });
  bool fresh = false;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const BaselineCounts& one = found[k];
    counts.all += one.all;
    counts.flagged += one.all - one.good;
    counts.fresh += one.lost + one.not_finite;
    counts.usable = counts.usable || one.usable;
    fresh = fresh || one.lost + one.not_finite > 0;
    const std::array<std::size_t, 2> ends{jones.place(tile.baselines[k].antenna1),
                                          jones.place(tile.baselines[k].antenna2)};
    for (const std::size_t end : {0, 1}) {
      const std::size_t a = ends[end];
      for (std::size_t reason = 1; reason < kReasons; ++reason)
        counts.because_of[a][reason] += one.because[end][reason];
      if (end == 1 && a == ends[0]) continue;
      counts.all_of[a] += one.all;
      counts.good_of[a] += one.good;
      counts.lost_of[a] += one.lost + one.not_finite;
      counts.because_of[a][0] += one.not_finite;
    }
  }
  return fresh;
}

}  // namespace rimetree::ms
