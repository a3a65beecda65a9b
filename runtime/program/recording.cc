#include "runtime/program/recording.h"

#include <algorithm>
#include <bit>
#include <string>

#include "runtime/program/kernels.h"

namespace rimetree::program {

namespace {
thread_local Recording* innermost_recording = nullptr;
}  // namespace

// Constants are told apart by their bits: 0 is not -0 here, and one NaN is like itself.
bool operator==(const Operation& a, const Operation& b) {
  return a.op == b.op && a.coordinate == b.coordinate && std::equal(a.operand, a.operand + kMostOperands, b.operand) &&
         std::bit_cast<std::uint64_t>(a.number) == std::bit_cast<std::uint64_t>(b.number);
}

std::size_t Recording::Hash::operator()(const Operation& operation) const {
  std::uint64_t hash = std::bit_cast<std::uint64_t>(operation.number) + static_cast<std::uint64_t>(operation.op) * 64 +
                       static_cast<std::uint64_t>(operation.coordinate);
  for (const std::int32_t operand : operation.operand)
    hash = (hash ^ (hash >> 29) ^ static_cast<std::uint32_t>(operand)) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

Recording& Recording::current() {
  if (innermost_recording == nullptr) throw std::logic_error("a number is recorded where there is no recording");
  return *innermost_recording;
}

Recording::Scope::Scope(Recording& recording) : before_(innermost_recording) { innermost_recording = &recording; }
Recording::Scope::~Scope() { innermost_recording = before_; }

std::int32_t Recording::add(const Operation& operation) {
  const auto [at, fresh] = names_.try_emplace(operation, static_cast<std::int32_t>(operations_.size()));
  if (fresh) {
    if (operations_.size() >= kMostOperations)
      throw NotRecordable("more than " + std::to_string(kMostOperations) + " elementary operations");
    operations_.push_back(operation);
  }
  return at->second;
}

std::int32_t Recording::constant(double number) { return add({.op = Op::constant, .number = number}); }

std::int32_t Recording::load(const Load& from) {
  return add({.op = Op::load, .operand = {from.input, from.element, from.item_stride, from.imaginary ? 1 : 0}});
}

std::int32_t Recording::coordinate(Coordinate which) { return add({.op = Op::coordinate, .coordinate = which}); }

std::int32_t Recording::look_up(std::int32_t entry, const LookUp& from) {
  if (is_constant(entry))
    return load(
        {from.input, from.element + static_cast<std::int32_t>(constant_of(entry)) * from.stride, 0, from.imaginary});
  return add({.op = Op::look_up, .operand = {entry, from.input, from.element, from.stride, from.imaginary ? 1 : 0}});
}

double Recording::constant_of(std::int32_t name) const {
  if (!is_constant(name)) throw std::logic_error("a recorded number is no constant");
  return (*this)[name].number;
}

bool Recording::is(std::int32_t name, double number) const {
  return is_constant(name) &&
         std::bit_cast<std::uint64_t>((*this)[name].number) == std::bit_cast<std::uint64_t>(number);
}

// Only what gives the same bits for all operands, the infinite ones and zeros of either sign included.
std::int32_t Recording::simplified(Op op, std::int32_t a, std::int32_t b, std::int32_t c) {
  const auto negated = [this](std::int32_t name) {
    return (*this)[name].op == Op::negate ? (*this)[name].operand[0] : -1;
  };
  const std::int32_t minus_a = negated(a), minus_b = b >= 0 ? negated(b) : -1;
  switch (op) {
    case Op::negate:
      return minus_a;
    case Op::detach:
      return (*this)[a].op == Op::detach || (*this)[a].op == Op::coordinate ? a : -1;
    case Op::add:
      if (minus_b >= 0) return make(Op::subtract, a, minus_b);
      if (minus_a >= 0) return make(Op::subtract, b, minus_a);
      return is(b, -0.0) ? a : is(a, -0.0) ? b : -1;
    case Op::subtract:
      if (minus_b >= 0) return make(Op::add, a, minus_b);
      return is(b, 0.0) ? a : -1;
    case Op::multiply:
      if (minus_a >= 0 && minus_b >= 0) return make(Op::multiply, minus_a, minus_b);
      if (minus_a >= 0) return make(Op::negate, make(Op::multiply, minus_a, b));
      if (minus_b >= 0) return make(Op::negate, make(Op::multiply, a, minus_b));
      if (is(a, -1)) return make(Op::negate, b);
      if (is(b, -1)) return make(Op::negate, a);
      return is(b, 1) ? a : is(a, 1) ? b : -1;
    case Op::divide:
      return is(b, 1) ? a : is(b, -1) ? make(Op::negate, a) : -1;
    case Op::select:
      if (is_constant(a)) return constant_of(a) != 0 ? b : c;
      return b == c ? b : -1;
    case Op::weigh:
      return is(a, 1) ? b : is(a, 0) || is(a, -0.0) ? constant(0) : -1;
    default:
      return -1;
  }
}

Recording::Paths::Paths(Recording& recording) : recording_(recording), outer_(recording.paths_) {
  recording.paths_ = this;
}
Recording::Paths::~Paths() { recording_.paths_ = outer_; }

bool Recording::decide(std::int32_t condition) {
  if (is_constant(condition)) return constant_of(condition) != 0;
  if (paths_ == nullptr) throw std::logic_error("a recorded number decides what is done outside record_paths()");
  Paths& paths = *paths_;
  for (std::size_t i = 0; i < paths.at_; ++i)
    if (paths.decisions_[i].condition == condition) return paths.decisions_[i].yes;
  if (paths.at_ == paths.decisions_.size()) paths.decisions_.push_back({condition, true});
  return paths.decisions_[paths.at_++].yes;
}

void Recording::Paths::add(std::vector<std::int32_t> names) {
  if (paths_.size() == kMost)
    throw NotRecordable("it decides by values what it computes, in more than " + std::to_string(kMost) + " ways");
  paths_.push_back({decisions_, std::move(names)});
}

bool Recording::Paths::next() {
  // The last decision that was yes becomes no; those after it are made anew.
  while (!decisions_.empty() && !decisions_.back().yes) decisions_.pop_back();
  if (decisions_.empty()) return false;
  decisions_.back().yes = false;
  at_ = 0;
  return true;
}

// Paths are in the order of their decisions, yes before no: those that agree up to a depth lie together.
std::vector<std::int32_t> Recording::Paths::merged(std::size_t first, std::size_t last, std::size_t depth) const {
  if (paths_[first].decisions.size() == depth) return paths_[first].names;
  std::size_t middle = first;
  while (middle < last && paths_[middle].decisions[depth].yes) ++middle;
  std::vector<std::int32_t> yes = merged(first, middle, depth + 1);
  const std::vector<std::int32_t> no = merged(middle, last, depth + 1);
  for (std::size_t i = 0; i < yes.size(); ++i)
    yes[i] = recording_.make(Op::select, paths_[first].decisions[depth].condition, yes[i], no[i]);
  return yes;
}

std::vector<std::int32_t> Recording::Paths::names() const { return merged(0, paths_.size(), 0); }

bool Recording::generalise(const Recording& second, const Recording& last, std::size_t n_item) {
  const std::size_t n = operations_.size();
  if (second.operations_.size() != n || last.operations_.size() != n) return false;
  std::vector<std::int32_t> stride(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const Operation &a = operations_[i], &b = second.operations_[i], &c = last.operations_[i];
    if (a.op != Op::load) {
      if (!(a == b && a == c)) return false;
      continue;
    }
    Load from = a.from();
    const std::int32_t first = from.element;
    stride[i] = b.from().element - first;
    from.element = first + stride[i];
    if (b.op != Op::load || c.op != Op::load || !(b.from() == from)) return false;
    from.element = first + stride[i] * static_cast<std::int32_t>(n_item - 1);
    if (!(c.from() == from)) return false;
  }
  names_.clear();  // what is made from now on is of one item only
  for (std::size_t i = 0; i < n; ++i)
    if (operations_[i].op == Op::load) operations_[i].operand[2] = stride[i];
  return true;
}

std::int32_t Recording::make(Op op, std::int32_t a, std::int32_t b, std::int32_t c) {
  const int n = operands_of(op);
  if (is_constant(a) && (n < 2 || is_constant(b)) && (n < 3 || is_constant(c))) {
    const auto number = [this](std::int32_t name) { return name >= 0 ? constant_of(name) : 0; };
    return constant(apply(op, number(a), number(b), number(c)));
  }
  if (const std::int32_t name = simplified(op, a, b, c); name >= 0) return name;
  const bool commutes = op == Op::add || op == Op::multiply || op == Op::product_error || op == Op::equal;
  if (commutes && a > b) std::swap(a, b);
  return add({.op = op, .operand = {a, b, c, -1}});
}

}  // namespace rimetree::program
