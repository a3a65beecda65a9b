#include "runtime/solve/sums/strand_sums.h"

#include <array>
#include <limits>

#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/solve/sums/strand_sums.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "runtime/program/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::solve {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A lane is a strand; where there are fewer lanes, several vectors stand for the strands.
using Lanes = hn::CappedTag<double, kStrands>;
using Vector = hn::Vec<Lanes>;
constexpr std::size_t kLanes = hn::MaxLanes(Lanes()), kVectors = kStrands / kLanes;

struct Strands {
  Vector sum[kVectors];

  Strands() {
    for (Vector& one : sum) one = hn::Zero(Lanes());
  }
  /// What they sum to, after add(strand, its sum) for cells beyond the last whole vectors.
  template <class Rest>
  double total(const Rest& rest) const {
    double strand[kStrands];
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], Lanes(), strand + v * kLanes);
    rest(strand);
    return sum_of_strands(strand);
  }
};

/// Calls add(i, vector) for all cells in whole vectors; gives how many these are.
template <class Add>
HWY_INLINE std::size_t for_each_vector(std::size_t n, const Add& add) {
  std::size_t i = 0;
  for (; i + kStrands <= n; i += kStrands)
    for (std::size_t v = 0; v < kVectors; ++v) add(i + v * kLanes, v);
  return i;
}

Complex<double> products(std::size_t n, const double* w, const double* a_re, const double* a_im, const double* b_re,
                         const double* b_im) {
  const Lanes d;
  Strands re, im;
  const std::size_t whole = for_each_vector(n, [&](std::size_t i, std::size_t v) HWY_ATTR {
    const Vector weight = hn::LoadU(d, w + i), ar = hn::LoadU(d, a_re + i), ai = hn::LoadU(d, a_im + i),
                 br = hn::LoadU(d, b_re + i), bi = hn::LoadU(d, b_im + i);
    re.sum[v] = hn::Add(re.sum[v], hn::Mul(weight, hn::Add(hn::Mul(ar, br), hn::Mul(ai, bi))));
    im.sum[v] = hn::Add(im.sum[v], hn::Mul(weight, hn::Sub(hn::Mul(ar, bi), hn::Mul(ai, br))));
  });
  const auto rest = [&](auto product) {
    return [&, product](double* strand) {
      for (std::size_t i = whole; i < n; ++i)
        strand[i % kStrands] += product(w[i], Complex<double>{a_re[i], a_im[i]}, Complex<double>{b_re[i], b_im[i]});
    };
  };
  return {re.total(rest(weighted_product_re)), im.total(rest(weighted_product_im))};
}

double powers(std::size_t n, const double* w, const double* re, const double* im) {
  const Lanes d;
  Strands power;
  const std::size_t whole = for_each_vector(n, [&](std::size_t i, std::size_t v) HWY_ATTR {
    const Vector a = hn::LoadU(d, re + i), b = hn::LoadU(d, im + i);
    power.sum[v] = hn::Add(power.sum[v], hn::Mul(hn::LoadU(d, w + i), hn::Add(hn::Mul(a, a), hn::Mul(b, b))));
  });
  return power.total([&](double* strand) {
    for (std::size_t i = whole; i < n; ++i) strand[i % kStrands] += weighted_power(w[i], re[i], im[i]);
  });
}

/// As `misfit_of`, of Student's t.
MisfitSums misfits(const ErrorModel& errors, int dimensions, std::size_t n, const double* re, const double* im,
                   double* w) {
  Strands objective, chi_square;
  std::size_t whole = 0;
#if HWY_NATIVE_FMA  // which the logarithm needs
  const Lanes d;
  const Vector offset = hn::Set(d, errors.degrees_of_freedom * errors.variance),
               scale = hn::Set(d, errors.degrees_of_freedom + dimensions);
  whole = for_each_vector(n, [&](std::size_t i, std::size_t v) HWY_ATTR {
    const Vector weight = hn::LoadU(d, w + i), a = hn::LoadU(d, re + i), b = hn::LoadU(d, im + i);
    const Vector square = hn::Mul(weight, hn::Add(hn::Mul(a, a), hn::Mul(b, b)));
    const Vector logarithm = program::HWY_NAMESPACE::logarithm_beside_one(hn::Div(square, offset));
    const Vector factor = hn::Div(scale, hn::Add(offset, square));
    objective.sum[v] = hn::Add(objective.sum[v], hn::Mul(scale, logarithm));
    chi_square.sum[v] = hn::Add(chi_square.sum[v], hn::Mul(square, factor));
    hn::StoreU(hn::Mul(weight, factor), d, w + i);
  });
#endif
  std::array<double, kStrands> of_rest{};
  const auto of_objective = [&](double* strand) {
    for (std::size_t i = whole; i < n; ++i) {
      const CellMisfit misfit = misfit_of(errors, w[i], {re[i], im[i]}, dimensions);
      strand[i % kStrands] += misfit.objective;
      of_rest[i % kStrands] += misfit.chi_square;
      w[i] *= misfit.factor;
    }
  };
  MisfitSums sums;
  sums.objective = objective.total(of_objective);
  sums.chi_square = chi_square.total([&](double* strand) {
    for (std::size_t k = 0; k < kStrands; ++k) strand[k] += of_rest[k];
  });
  return sums;
}

bool count(std::size_t n, const double* w, const double* const* arrays, std::size_t n_array) {
  const Lanes d;
  Strands zero;  // x - x is NaN where x is not finite
  Vector least = hn::Set(d, std::numeric_limits<double>::max());
  const std::size_t whole = for_each_vector(n, [&](std::size_t i, std::size_t v) HWY_ATTR {
    const Vector weight = hn::LoadU(d, w + i);
    least = hn::Min(least, weight);
    zero.sum[v] = hn::Add(zero.sum[v], hn::Sub(weight, weight));
  });
  for (std::size_t a = 0; a < n_array; ++a)
    for_each_vector(n, [&](std::size_t i, std::size_t v) HWY_ATTR {
      const Vector x = hn::LoadU(d, arrays[a] + i);
      zero.sum[v] = hn::Add(zero.sum[v], hn::Sub(x, x));
    });
  bool good = hn::AllTrue(d, hn::Gt(least, hn::Zero(d)));
  for (std::size_t i = whole; i < n; ++i) {
    good = good && is_good_weight(w[i]);
    for (std::size_t a = 0; a < n_array; ++a) good = good && is_finite(arrays[a][i]);
  }
  return good && zero.total([](double*) {}) == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::solve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::solve {

HWY_EXPORT(products);
HWY_EXPORT(powers);
HWY_EXPORT(misfits);
HWY_EXPORT(count);

Complex<double> sum_of_products(std::size_t n, const double* w, const double* a_re, const double* a_im,
                                const double* b_re, const double* b_im) {
  return HWY_DYNAMIC_DISPATCH(products)(n, w, a_re, a_im, b_re, b_im);
}
double sum_of_powers(std::size_t n, const double* w, const double* re, const double* im) {
  return HWY_DYNAMIC_DISPATCH(powers)(n, w, re, im);
}
MisfitSums sum_of_misfits(const ErrorModel& errors, int dimensions, std::size_t n, const double* re, const double* im,
                          double* w) {
  if (errors.degrees_of_freedom > 0) return HWY_DYNAMIC_DISPATCH(misfits)(errors, dimensions, n, re, im, w);
  const double power = sum_of_powers(n, w, re, im);
  return {power, power};
}
bool all_count(std::size_t n, const double* w, const double* const* arrays, std::size_t n_array) {
  return HWY_DYNAMIC_DISPATCH(count)(n, w, arrays, n_array);
}

}  // namespace rimetree::solve
#endif  // HWY_ONCE
