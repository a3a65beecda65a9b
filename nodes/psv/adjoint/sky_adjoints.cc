#include "nodes/psv/adjoint/sky_adjoints.h"

#include "nodes/psv/plane_shares.h"

namespace rimetree::psv::adjoint {
namespace {

/// Derivatives with respect to l, m and n, n - n_minus being a function of the three.
void add_positions(const ChildLayout& layout, const Sky<double>& sky, const SourceAdjoints& found, const double* lmn,
                   double* adjoint) {
  for (std::size_t k = 0; k < sky.n_source; ++k) {
    const std::size_t s = sky.order[k];
    for (std::size_t i = 0; i < 3; ++i) {
      Dual<double> x[3] = {lmn[3 * s], lmn[3 * s + 1], lmn[3 * s + 2]};
      x[i].d = 1;
      const double slope = n_offset(x[0], x[1], x[2], layout.n_minus).d;
      adjoint[3 * s + i] += found.positions[3 * k + 2] * slope + (i < 2 ? found.positions[3 * k + i] : 0);
    }
  }
}

void add_brightness(const ChildLayout& layout, const Sky<double>& sky, const SourceAdjoints& found, Vells& adjoint) {
  const std::size_t n_channel = sky.n_weight_channel, n_plane = sky.planes.size();
  for (std::size_t k = 0; k < sky.n_source; ++k)
    for (std::size_t f = 0; f < n_channel; ++f) {
      Complex<double> b[4];
      for (std::size_t p = 0; p < n_plane; ++p)
        add_plane_weight(sky.planes[p], found.weights[(k * n_channel + f) * n_plane + p], &b[0].re);
      const auto n_element = static_cast<std::size_t>(layout.brightness_elements);
      if (n_element == 1) b[0] += b[3];  // a scalar is both XX and YY
      for (std::size_t e = 0; e < n_element; ++e) {
        const std::size_t at = (sky.order[k] * n_element + e) * n_channel + f;
        if (adjoint.is_complex())
          adjoint.complex()[at] += b[e];
        else
          adjoint.real()[at] += b[e].re;
      }
    }
}

/// `shapes`: the child's values, of which there is one for all cells.
void add_shapes(const ChildLayout& layout, const Sky<double>& sky, const SourceAdjoints& found, const double* shapes,
                double* adjoint) {
  const auto columns = static_cast<std::size_t>(layout.shape_columns);
  for (std::size_t k = sky.n_point; k < sky.n_source; ++k) {
    const ShapeAxes<double>& gained = found.axes[k - sky.n_point];
    const double* shape = shapes + columns * sky.order[k];
    double* to = adjoint + columns * sky.order[k];
    if (layout.shapes_are_vectors())
      for (std::size_t i = 0; i < 3; ++i) to[i] += gained.major[i], to[3 + i] += gained.minor[i];
    else
      add_in_plane(gained, shape[0], shape[1], shape[2], to);
  }
}

}  // namespace

bool has_kernel(const PullBack& pull) {
  const Evaluation& evaluation = pull.inputs;
  return pull.child(kUvw) == nullptr && is_constant_in_time(evaluation) && !evaluation.child(kLmn).value.is_complex();
}

SourceWish wish_of(const PullBack& pull) {
  return {pull.child(kBrightness) != nullptr, pull.child(kLmn) != nullptr,
          pull.inputs.has_child(kShape) && pull.child(kShape) != nullptr};
}

void add_to_children(const ChildLayout& layout, const Sky<double>& sky, const SourceAdjoints& found,
                     const PullBack& pull) {
  const SourceWish wish = wish_of(pull);
  if (wish.positions) add_positions(layout, sky, found, pull.inputs.child(kLmn).value.real(), pull.child(kLmn)->real());
  if (wish.weights) add_brightness(layout, sky, found, *pull.child(kBrightness));
  if (wish.shapes) add_shapes(layout, sky, found, pull.inputs.child(kShape).value.real(), pull.child(kShape)->real());
}

}  // namespace rimetree::psv::adjoint
