// Phases of random trees: by class, and by hand in the ways in which scripts write them.
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

/// exp(2 pi i nu/c (u l + v m + w (n - 1))) as scripts write it.
std::string RandomRime::written_phase(const std::string& lmn, const std::string& uvw) {
  constexpr double kTurn = 6.283185307179586, kLight = 299792458.0;
  const double own = scaled_ ? 0.9 : 1;
  const bool negative = chance(0.3);
  const double turn = negative ? -kTurn * own : kTurn * own;
  const std::string nu = made("Freq", {});
  std::string x;
  switch (pick(4)) {
    case 0:
      x = made("Multiply", {constant({}, turn / kLight, turn / kLight), nu, path(lmn, uvw)});
      break;
    case 1: {
      const std::string length = made("Divide", {constant({}, kLight, kLight), nu});
      x = made("Divide", {made("Multiply", {constant({}, turn, turn), path(lmn, uvw)}), length});
      break;
    }
    case 2: {
      const std::string waves = made("Multiply", {uvw, made("Divide", {nu, constant({}, kLight, kLight)})});
      x = made("Multiply", {path(lmn, waves), constant({}, turn, turn)});
      break;
    }
    default:
      x = made("Multiply", {made("Multiply", {path(lmn, uvw), nu}), constant({}, turn / kLight, turn / kLight)});
  }
  if (also(0.2)) {  // with the ionosphere's, or a constant one
    const std::string other = also(0.5) ? made("Divide", {constant({}, -1e9, 1e9), nu}) : constant({}, -1, 1);
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

}  // namespace rimetree::test
