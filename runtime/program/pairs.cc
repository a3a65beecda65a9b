#include "runtime/program/pairs.h"

#include <algorithm>
#include <array>
#include <map>

#include "runtime/program/recording.h"

namespace rimetree::program {

namespace {

/// Writes complex numbers down as pairs, in a recording of their own, as far as their parts are made together: alike,
/// by products of complex numbers, or from one number for both.
class Pairing {
 public:
  Pairing(const Recording& recording, std::span<const Axes> inputs, Axes coordinates, Axes inner)
      : operations_(recording.operations()), inner_(inner) {
    for (const Operation& operation : operations_) axes_.push_back(own_axes(operation, inputs, coordinates));
  }

  /// The pair's name in pairs(); nothing if there is none.
  std::optional<std::int32_t> add(std::int32_t re, std::int32_t im) {
    std::vector<Pair> wanted{{re, im}}, found;
    while (!wanted.empty()) {
      const Pair pair = wanted.back();
      wanted.pop_back();
      if (!known_.try_emplace(pair, kUnwritten).second) continue;
      Made made;
      if (!is_made(pair, made)) return {};
      made_[pair] = made;
      found.push_back(pair);
      wanted.insert(wanted.end(), made.operands.begin(), made.operands.begin() + made.n_operand);
    }
    // What a pair is made from was recorded before it.
    const auto last = [](const Pair& pair) { return std::max(pair.first, pair.second); };
    std::sort(found.begin(), found.end(), [&](const Pair& a, const Pair& b) { return last(a) < last(b); });
    for (const Pair& pair : found) known_[pair] = write(pair, made_[pair]);
    return known_[{re, im}];
  }
  const Recording& pairs() const { return pairs_; }

 private:
  using Pair = std::pair<std::int32_t, std::int32_t>;
  static constexpr std::int32_t kUnwritten = -1;
  /// How a pair is made from others.
  struct Made {
    Op op = Op::constant;
    int n_operand = 0;
    std::array<Pair, kMostOperands> operands{};
  };

  const Operation& at(std::int32_t name) const { return operations_[static_cast<std::size_t>(name)]; }
  bool varies(std::int32_t name) const { return (axes_[static_cast<std::size_t>(name)] & inner_) != 0; }

  Axes own_axes(const Operation& operation, std::span<const Axes> inputs, Axes coordinates) const {
    if (operation.op == Op::load) return inputs[static_cast<std::size_t>(operation.from().input)];
    if (operation.op == Op::coordinate) return coordinates;
    Axes axes = operation.op == Op::look_up ? inputs[static_cast<std::size_t>(operation.looked_up().input)] : Axes{0};
    for (int k = 0; k < operands_of(operation.op); ++k) axes |= axes_[static_cast<std::size_t>(operation.operand[k])];
    return axes;
  }

  bool is_made(const Pair& pair, Made& made) const {
    const auto [re, im] = pair;
    // One number for both parts is right for both where it does not vary along what becomes longer.
    if (re == im) return !varies(re);
    const Operation &x = at(re), &y = at(im);
    made.op = x.op;
    if (x.op == Op::look_up) return false;  // which entry is no pair
    if (x.op == Op::load) {
      if (y.op != Op::load) return false;
      const Load first = x.from(), second = y.from();
      return varies(re) && !first.imaginary && second.imaginary && first.input == second.input &&
             first.element == second.element && first.item_stride == second.item_stride;
    }
    if (x.op == Op::subtract && y.op == Op::add) return varies(re) && is_product(x, y, made);
    made.n_operand = operands_of(x.op);
    for (int k = 0; k < made.n_operand; ++k) made.operands[static_cast<std::size_t>(k)] = {x.operand[k], y.operand[k]};
    return x.op == y.op && made.n_operand > 0;
  }
  /// Whether they are a b - c d and a d + c b, or a c + b d: then (a, c) (b, d) or (a, d) (b, c).
  bool is_product(const Operation& difference, const Operation& sum, Made& made) const {
    const Operation &first = at(difference.operand[0]), &second = at(difference.operand[1]);
    const Operation &one = at(sum.operand[0]), &other = at(sum.operand[1]);
    for (const Operation* product : {&first, &second, &one, &other})
      if (product->op != Op::multiply) return false;
    const auto is = [](const Operation& product, std::int32_t a, std::int32_t b) {
      const std::int32_t* const x = product.operand;
      return (x[0] == a && x[1] == b) || (x[0] == b && x[1] == a);
    };
    const std::int32_t a = first.operand[0], b = first.operand[1];
    for (const int k : {0, 1}) {
      const std::int32_t c = second.operand[k], d = second.operand[1 - k];
      if (!(is(one, a, d) && is(other, c, b)) && !(is(one, c, b) && is(other, a, d))) continue;
      made = {Op::pair_product, 2, {Pair{a, c}, Pair{b, d}}};
      return true;
    }
    return false;
  }

  std::int32_t write(const Pair& pair, const Made& made) {
    if (pair.first == pair.second) return copy(pair.first);
    if (made.op == Op::load) return pairs_.load(at(pair.first).from());
    std::int32_t name[3] = {-1, -1, -1};
    for (int k = 0; k < made.n_operand; ++k) name[k] = known_[made.operands[static_cast<std::size_t>(k)]];
    return pairs_.make(made.op, name[0], name[1], name[2]);
  }
  /// A number that is no pair, with all that it is made from.
  std::int32_t copy(std::int32_t name) {
    while (static_cast<std::int32_t>(copied_.size()) <= name) {
      const Operation& operation = operations_[copied_.size()];
      const auto operand = [&](int k) {
        return k < operands_of(operation.op) ? copied_[static_cast<std::size_t>(operation.operand[k])] : -1;
      };
      if (operation.op == Op::constant)
        copied_.push_back(pairs_.constant(operation.number));
      else if (operation.op == Op::load)
        copied_.push_back(pairs_.load(operation.from()));
      else if (operation.op == Op::look_up)
        copied_.push_back(pairs_.look_up(operand(0), operation.looked_up()));
      else if (operation.op == Op::coordinate)
        copied_.push_back(pairs_.coordinate(operation.coordinate));
      else
        copied_.push_back(pairs_.make(operation.op, operand(0), operand(1), operand(2)));
    }
    return copied_[static_cast<std::size_t>(name)];
  }

  const std::vector<Operation>& operations_;
  Axes inner_;
  std::vector<Axes> axes_;
  std::map<Pair, std::int32_t> known_;  // names in the recording of pairs
  std::map<Pair, Made> made_;
  std::vector<std::int32_t> copied_;  // by name: the same number there
  Recording pairs_;
};

}  // namespace

std::optional<Program> program_of_pairs(const Recording& recording, std::span<const Output> outputs,
                                        std::span<const Axes> inputs, Axes coordinates, Axes cells) {
  const int inner = innermost(cells);
  if (inner < 0) return {};
  Pairing pairing(recording, inputs, coordinates, bit_of(static_cast<Axis>(inner)));
  std::vector<Output> parts(outputs.begin(), outputs.end());
  for (Output& output : parts) {
    if (output.im < 0) return {};
    const std::optional<std::int32_t> pair = pairing.add(output.re, output.im);
    if (!pair) return {};
    output.re = *pair;
    output.im = -1;
  }
  return std::optional<Program>(std::in_place, pairing.pairs(), parts, inputs, coordinates, cells,
                                Program::Pairs::never);
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
