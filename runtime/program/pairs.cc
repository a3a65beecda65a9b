#include "runtime/program/pairs.h"

#include <algorithm>

#include "runtime/program/recording.h"

namespace rimetree::program {

namespace {

/// Whether an imaginary part is made as a real part is, number by number.
class Pairing {
 public:
  Pairing(const Recording& recording, std::span<const Axes> inputs, Axes coordinates, Axes inner)
      : operations_(recording.operations()), inner_(inner), partner_(operations_.size(), kNone) {
    for (const Operation& operation : operations_) axes_.push_back(own_axes(operation, inputs, coordinates));
  }

  bool match(std::int32_t re, std::int32_t im) {
    std::vector<std::pair<std::int32_t, std::int32_t>> left{{re, im}};
    while (!left.empty()) {
      const auto [a, b] = left.back();
      left.pop_back();
      std::int32_t& known = partner_[static_cast<std::size_t>(a)];
      if (known == b) continue;
      if (known != kNone || !are_alike(a, b)) return false;
      known = b;
      if (a == b || operands_of(at(a).op) == 0) continue;
      for (int k = 0; k < operands_of(at(a).op); ++k) left.emplace_back(at(a).operand[k], at(b).operand[k]);
    }
    return true;
  }

 private:
  static constexpr std::int32_t kNone = -1;

  const Operation& at(std::int32_t name) const { return operations_[static_cast<std::size_t>(name)]; }
  bool varies(std::int32_t name) const { return (axes_[static_cast<std::size_t>(name)] & inner_) != 0; }

  Axes own_axes(const Operation& operation, std::span<const Axes> inputs, Axes coordinates) const {
    if (operation.op == Op::load) return inputs[static_cast<std::size_t>(operation.from().input)];
    if (operation.op == Op::coordinate) return coordinates;
    Axes axes = 0;
    for (int k = 0; k < operands_of(operation.op); ++k) axes |= axes_[static_cast<std::size_t>(operation.operand[k])];
    return axes;
  }

  bool are_alike(std::int32_t a, std::int32_t b) const {
    // One number for both parts is right for both where it does not vary along what becomes longer.
    if (a == b) return !varies(a);
    const Operation &x = at(a), &y = at(b);
    if (x.op != y.op) return false;
    if (x.op == Op::load) {
      const Load re = x.from(), im = y.from();
      return varies(a) && !re.imaginary && im.imaginary && re.input == im.input && re.element == im.element &&
             re.item_stride == im.item_stride;
    }
    return operands_of(x.op) > 0;
  }

  const std::vector<Operation>& operations_;
  Axes inner_;
  std::vector<std::int32_t> partner_;  // by real part
  std::vector<Axes> axes_;
};

}  // namespace

std::optional<Program> program_of_pairs(const Recording& recording, std::span<const Output> outputs,
                                        std::span<const Axes> inputs, Axes coordinates, Axes cells) {
  const int inner = innermost(cells);
  if (inner < 0) return {};
  Pairing pairing(recording, inputs, coordinates, bit_of(static_cast<Axis>(inner)));
  std::vector<Output> parts(outputs.begin(), outputs.end());
  for (Output& output : parts) {
    if (output.im < 0 || !pairing.match(output.re, output.im)) return {};
    output.im = -1;
  }
  return std::optional<Program>(std::in_place, recording, parts, inputs, coordinates, cells, Program::Pairs::never);
}

bool are_pairs(const Data& data, int inner) {
  const auto stride = [inner](const Array& array) { return array.stride[static_cast<std::size_t>(inner)]; };
  const auto is_side_by_side = [&](const Array& array) { return array.is_complex && stride(array) == 1; };
  return std::all_of(data.outputs.begin(), data.outputs.end(), is_side_by_side) &&
         std::all_of(data.inputs.begin(), data.inputs.end(),
                     [&](const Array& array) { return stride(array) == 0 || is_side_by_side(array); });
}

std::vector<Array> as_pairs(std::span<const Array> arrays, int inner) {
  std::vector<Array> pairs(arrays.begin(), arrays.end());
  for (Array& array : pairs) {
    std::size_t& along = array.stride[static_cast<std::size_t>(inner)];
    if (along == 0) continue;
    array.is_complex = false;
    array.plane *= 2;
    for (std::size_t& stride : array.stride) stride *= 2;
    along = 1;
  }
  return pairs;
}

}  // namespace rimetree::program
