// Phases of random trees: by class, and by hand in the ways in which scripts write them.
#include <algorithm>
#include <utility>

#include "tests/support/random_rime.h"

namespace rimetree::test {

std::string RandomRime::phase(const std::string& lmn, const std::string& uvw, const std::string& shape) {
  // Smearing goes with it if it is of the same directions and coordinates, tapers if it is of the same coordinates.
  const bool is_other = (smears_ && (moving_ || whole_n_ || scaled_)) || (scaled_ && !shape.empty());
  if (by_hand_ && !is_other && chance(0.8)) return written_phase(lmn, uvw);
  const bool whole_n = by_hand_ && !is_other && whole_n_;
  return made("VisPhaseShift", {"lmn=" + lmn, "uvw=" + uvw}, {{"n_minus", std::int64_t{whole_n ? 0 : 1}}});
}

/// u l + v m + w (n - 1) in metres, or in light seconds.
std::string RandomRime::path(const std::string& lmn, const std::string& uvw) {
  const auto element = [&](const std::string& of, double row, bool is_table, int i) {
    const std::vector<double> index = is_table ? std::vector<double>{row, double(i)} : std::vector<double>{double(i)};
    return made("Selector", {of}, {{"index", array({static_cast<std::int64_t>(index.size())}, index)}});
  };
  if (chance(0.3)) return dot_product(lmn, uvw);
  Names terms;
  for (int i = 0; i < 3; ++i) {
    const std::string number = element(uvw, 0, has_rates_, i);
    std::string cosine = element(lmn, -1, tensors_, i);
    if (i == 2 && !whole_n_)
      cosine =
          chance(0.5) ? made("Subtract", {cosine, constant({}, 1, 1)}) : made("Add", {constant({}, -1, -1), cosine});
    terms.push_back(made("Multiply", chance(0.5) ? Names{number, cosine} : Names{cosine, number}));
  }
  if (chance(0.5)) return made("Add", terms);
  return made("Add", {made("Add", {terms[0], terms[1]}), terms[2]});
}

/// The same as a product of vectors.
std::string RandomRime::dot_product(const std::string& lmn, const std::string& uvw) {
  const std::string coordinates = has_rates_ ? made("Selector", {uvw}, {{"index", array({2}, {0, -1})}}) : uvw;
  std::string cosines = lmn;
  if (!whole_n_) {
    std::vector<double> centre;
    for (std::size_t s = 0; s < (tensors_ ? n_source_ : 1); ++s) centre.insert(centre.end(), {0, 0, 1});
    const auto n = static_cast<std::int64_t>(n_source_);
    const std::vector<std::int64_t> shape = tensors_ ? std::vector<std::int64_t>{n, 3} : std::vector<std::int64_t>{3};
    const StateArray value{shape, NumberType::real, centre};
    cosines = made("Subtract", {lmn, made("Constant", {}, {{"value", value}})});
  }
  if (tensors_) return made("MatrixMultiply", {cosines, coordinates});
  const auto in_dims = [&](const std::string& vector, double rows, double columns) {
    return made("Composer", {vector}, {{"dims", array({2}, {rows, columns})}});
  };
  switch (pick(4)) {
    case 0:
      return made("MatrixMultiply", {coordinates, cosines});
    case 1:
      return made("MatrixMultiply", {cosines, coordinates});
    case 2:
      return made("Selector", {made("MatrixMultiply", {in_dims(coordinates, 1, 3), in_dims(cosines, 3, 1)})},
                  {{"index", array({2}, {0, 0})}});
    default:
      return made("Sum", {made("Multiply", {coordinates, cosines})},
                  {{"reduction_axes", std::vector<std::string>{}}, {"tensor_axis", std::int64_t{0}}});
  }
}

/// 2 pi nu/c (u l + v m + w (n - 1)) as scripts write it; `turn`: instead of 2 pi.
std::string RandomRime::written_angle(const std::string& lmn, const std::string& uvw, double turn) {
  constexpr double kLight = 299792458.0;
  const std::string nu = made("Freq", {});
  switch (pick(4)) {
    case 0:
      return made("Multiply", {constant({}, turn / kLight, turn / kLight), nu, path(lmn, uvw)});
    case 1: {
      const std::string length = made("Divide", {constant({}, kLight, kLight), nu});
      return made("Divide", {made("Multiply", {constant({}, turn, turn), path(lmn, uvw)}), length});
    }
    case 2: {
      const std::string waves = made("Multiply", {uvw, made("Divide", {nu, constant({}, kLight, kLight)})});
      return made("Multiply", {path(lmn, waves), constant({}, turn, turn)});
    }
    default:
      return made("Multiply", {made("Multiply", {path(lmn, uvw), nu}), constant({}, turn / kLight, turn / kLight)});
  }
}

std::string RandomRime::written_phase(const std::string& lmn, const std::string& uvw) {
  constexpr double kTurn = 6.283185307179586;
  const double own = scaled_ ? 0.9 : 1;
  const bool negative = chance(0.3);
  std::string x = written_angle(lmn, uvw, negative ? -kTurn * own : kTurn * own);
  if (also(0.2)) {  // with the ionosphere's, or a constant one
    const std::string other =
        also(0.5) ? made("Divide", {constant({}, -1e9, 1e9), made("Freq", {})}) : constant({}, -1, 1);
    x = made(also(0.5) ? "Add" : "Subtract", {x, other});
  }
  if (negative) x = made("Negate", {x});
  const std::string one = constant({}, 1, 1);
  const std::string i = made("Constant", {}, {{"value", StateArray{{}, NumberType::complex, {0, 1}}}});
  switch (pick(4)) {
    case 0:
      return made("Exp", {made("Multiply", {i, x})});
    case 1:
      return made("Polar", {one, x});
    case 2:
      return made("ToComplex", {made("Cos", {x}), made("Sin", {x})});
    default:
      return made("Add", {made("Cos", {x}), made("Multiply", {i, made("Sin", {x})})});
  }
}

/// By class, or what scripts write over a width of their own.
RandomRime::Names RandomRime::smearing_of(const std::string& lmn, const std::string& uvw) {
  if (tensors_ || also(0.5)) return {made("TFSmearFactor", {"lmn=" + lmn, "uvw=" + uvw})};
  constexpr double kHalfTurn = 3.141592653589793, kLight = 299792458.0;
  const auto scaled = [&](double by, const std::string& way) {
    return written_smearing(made("Multiply", {constant({}, by, by), way}));
  };
  Names all{scaled(kHalfTurn * 3e6 / kLight, path(lmn, uvw))};
  if (!has_rates_ || also(0.5)) return all;
  Names terms;
  for (int i = 0; i < 3; ++i) {
    const std::string rate = made("Selector", {uvw}, {{"index", array({2}, {1, double(i)})}});
    std::string cosine = made("Selector", {lmn}, {{"index", array({1}, {double(i)})}});
    if (i == 2 && !whole_n_) cosine = made("Subtract", {cosine, constant({}, 1, 1)});
    terms.push_back(made("Multiply", {rate, cosine}));
  }
  all.push_back(scaled(kHalfTurn * 0.02 / kLight, made("Multiply", {made("Freq", {}), made("Add", terms)})));
  return all;
}

/// Never 0/0, as on a baseline of length zero.
std::string RandomRime::written_smearing(const std::string& x) {
  const std::string shifted = made("Add", {x, constant({}, 1e-20, 1e-20)});
  return made("Divide", {made("Sin", {shifted}), shifted});
}

/// Of cosines, or of sines, of phases.
std::string RandomRime::real_sum(std::size_t p, std::size_t q) {
  const std::string name = "R:" + std::to_string(p) + ":" + std::to_string(q);
  Names terms;
  for (std::size_t s = 0; s < std::min<std::size_t>(n_source_, 4); ++s) {
    const std::string lmn = tensors_ ? directions(0) : lmn_[s];
    const std::string path = written_real_path(lmn, baseline_uvw_[p][q]);
    const std::string part = made(also(0.7) ? "Cos" : "Sin", {path});
    terms.push_back(made("Multiply", {also(0.5) ? parm(0.5, 1) : leaf(constant({}, 0.5, 1), {}), part}));
  }
  tree.node(name, "Add", terms);
  return name;
}

std::string RandomRime::written_real_path(const std::string& lmn, const std::string& uvw) {
  constexpr double kTurn = 6.283185307179586;
  const bool tensors = std::exchange(tensors_, false);
  const std::string angle = written_angle(lmn, uvw, kTurn);
  tensors_ = tensors;
  return angle;
}

/// exp(i k (TEC_p - TEC_q) / nu) of a source.
std::string RandomRime::of_both_stations(std::size_t p, std::size_t q, std::size_t s) {
  if (electrons_.empty())
    for (std::size_t i = 0; i < n_source_ * n_antenna_; ++i)
      electrons_.push_back(also(0.5) ? parm(-1, 1) : leaf(constant({}, -1, 1), {}));
  const std::string difference = made("Subtract", {electrons_[s * n_antenna_ + p], electrons_[s * n_antenna_ + q]});
  const std::string x = made("Divide", {made("Multiply", {constant({}, 1e9, 1e9), difference}), made("Freq", {})});
  if (also(0.5)) return made("Polar", {constant({}, 1, 1), x});
  const std::string i = made("Constant", {}, {{"value", StateArray{{}, NumberType::complex, {0, 1}}}});
  return made("Exp", {made("Multiply", {i, x})});
}

}  // namespace rimetree::test
