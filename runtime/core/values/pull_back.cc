#include "runtime/core/values/pull_back.h"

#include <cstring>

#include "runtime/core/cells/cell_loop.h"

namespace rimetree {

namespace {

double* numbers(Vells& vells) { return vells.is_complex() ? &vells.complex()->re : vells.real(); }
const double* numbers(const Vells& vells) { return vells.is_complex() ? &vells.complex()->re : vells.real(); }

}  // namespace

Vells zeros(memory::Pool& pool, NumberType type, const TensorShape& dims, const CellShape& cells) {
  Vells vells(pool, type, dims, cells);
  if (vells.bytes() > 0) std::memset(static_cast<void*>(numbers(vells)), 0, vells.bytes());
  return vells;
}

Vells on_cells(memory::Pool& pool, const Vells& values, const Vells& like) {
  Vells result(pool, like.type(), like.dims(), like.cells());
  const auto stride = broadcast_strides(values.cells());
  std::size_t i = 0;
  for (std::size_t e = 0; e < like.dims().size(); ++e)
    for_each_cell(like.cells(), [&](const std::array<int, kAxes>& cell) {
      const Complex<double> x = values.at(e, offset_of(cell, stride));
      if (result.is_complex())
        result.complex()[i++] = x;
      else
        result.real()[i++] = x.re;
    });
  return result;
}

void add_to(Vells& target, const Vells& values) {
  double* to = numbers(target);
  const double* from = numbers(values);
  const std::size_t n = values.bytes() / sizeof(double);
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

void PullBack::make(std::size_t slot) const {
  const Vells& value = inputs.child(slot).value;
  *children_[slot] = zeros(inputs.pool, value.type(), value.dims(), value.cells());
}

const Vells* PullBack::tangent(std::size_t slot) const {
  const auto it = tangents.find(slot);
  return it == tangents.end() || it->second->derivatives.empty() ? nullptr : &it->second->derivatives.front().value;
}

void PullBack::pass_on(std::size_t slot) {
  if (child(slot) != nullptr) add_to(*child(slot), adjoint);
}

}  // namespace rimetree
