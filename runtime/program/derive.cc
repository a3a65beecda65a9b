#include "runtime/program/derive.h"

#include <algorithm>
#include <cmath>

#include "runtime/program/recorded.h"

namespace rimetree::program {

namespace {

Recorded number(std::int32_t name) { return Recorded::named(name); }

/// Joins the ways in which the derivative of a function goes, if it decides by values.
template <class Formula>
std::int32_t joined(const Formula& formula) {
  return record_joined([&]() -> Recorded { return formula().d; }).name();
}

/// The tangent of a function of numbers a and b (if it has two) with the tangents da and db.
std::int32_t tangent_of(Op op, Recorded a, Recorded da, Recorded b, Recorded db) {
  const Dual<Recorded> x(a, da), y(b, db);
  switch (op) {
    case Op::absolute:
      return joined([&] { return abs(x); });
    case Op::sqrt:
      return joined([&] { return sqrt(x); });
    case Op::sin:
      return sin(x).d.name();
    case Op::cos:
      return cos(x).d.name();
    case Op::exp:
      return exp(x).d.name();
    case Op::log:
      return log(x).d.name();
    case Op::tan:
      return tan(x).d.name();
    case Op::asin:
      return joined([&] { return asin(x); });
    case Op::acos:
      return joined([&] { return acos(x); });
    case Op::atan:
      return atan(x).d.name();
    case Op::sinh:
      return sinh(x).d.name();
    case Op::cosh:
      return cosh(x).d.name();
    case Op::tanh:
      return tanh(x).d.name();
    case Op::log1p:
      return log1p(x).d.name();
    case Op::sinc:
      return joined([&] { return sinc(x); });
    case Op::hypot:
      return joined([&] { return hypot(x, y); });
    case Op::atan2:
      return joined([&] { return atan2(x, y); });
    case Op::pow:
      return joined([&] { return pow(x, y); });
    default:
      throw std::logic_error("operation " + std::to_string(static_cast<int>(op)) + " has no derivative");
  }
}

/// Through which of its operands an operation is derived.
bool derives_through(Op op, int operand) {
  switch (op) {
    case Op::round:
    case Op::look_up:
    case Op::detach:
    case Op::product_error:
    case Op::less:
    case Op::less_equal:
    case Op::equal:
      return false;
    case Op::with_value:
      return operand == 0;
    case Op::select:
      return operand > 0;
    default:
      return operand < operands_of(op);
  }
}

class Forward {
 public:
  Forward(Recording& recording, const std::function<std::int32_t(const Load&)>& of_load)
      : recording_(recording), of_load_(of_load) {}

  std::int32_t tangent(std::int32_t name) {
    const Operation operation = recording_[name];
    if (operation.op == Op::load) return of_load_(operation.from());
    if (operation.op == Op::look_up) return looked_up(operation);
    std::int32_t t[kMostOperands];
    std::fill_n(t, kMostOperands, kZero);
    bool any = false;
    for (int k = 0; k < operands_of(operation.op); ++k) {
      if (!derives_through(operation.op, k)) continue;
      t[k] = tangents_[static_cast<std::size_t>(operation.operand[k])];
      any = any || t[k] != kZero;
    }
    return any ? made(name, operation, t) : kZero;
  }
  void run(std::size_t n_operation) {
    const auto n = static_cast<std::int32_t>(std::min(n_operation, recording_.operations().size()));
    tangents_.reserve(static_cast<std::size_t>(n));
    for (std::int32_t name = 0; name < n; ++name) tangents_.push_back(tangent(name));
  }
  std::int32_t operator[](std::int32_t name) const { return tangents_[static_cast<std::size_t>(name)]; }

 private:
  /// The same of the table's tangent, which is read where `of_load_` would read it.
  std::int32_t looked_up(const Operation& operation) {
    const LookUp table = operation.looked_up();
    const std::int32_t read = of_load_({table.input, table.element, 0, table.imaginary});
    if (read == kZero) return kZero;
    return recording_.look_up(operation.operand[0],
                              {recording_[read].from().input, table.element, table.stride, table.imaginary});
  }
  std::int32_t zero_if_none(std::int32_t t) { return t == kZero ? recording_.constant(0) : t; }
  std::int32_t added(std::int32_t a, std::int32_t b) {
    return a == kZero ? b : b == kZero ? a : recording_.make(Op::add, a, b);
  }
  std::int32_t subtracted(std::int32_t a, std::int32_t b) {
    if (b == kZero) return a;
    return a == kZero ? recording_.make(Op::negate, b) : recording_.make(Op::subtract, a, b);
  }
  std::int32_t product(Op op, std::int32_t a, std::int32_t b) {
    return a == kZero || b == kZero ? kZero : recording_.make(op, a, b);
  }
  std::int32_t made(std::int32_t name, const Operation& operation, const std::int32_t* t) {
    const std::int32_t* const x = operation.operand;
    switch (operation.op) {
      case Op::negate:
        return recording_.make(Op::negate, t[0]);
      case Op::add:
        return added(t[0], t[1]);
      case Op::subtract:
        return subtracted(t[0], t[1]);
      case Op::multiply:
        return added(product(Op::multiply, t[0], x[1]), product(Op::multiply, x[0], t[1]));
      case Op::weigh:
        return added(product(Op::weigh, t[0], x[1]), product(Op::weigh, x[0], t[1]));
      case Op::divide:  // (da - q db) / b
        return recording_.make(Op::divide, subtracted(t[0], product(Op::multiply, name, t[1])), x[1]);
      case Op::with_value:
        return t[0];
      case Op::select:
        return recording_.make(Op::select, x[0], zero_if_none(t[1]), zero_if_none(t[2]));
      default:
        break;
    }
    const bool two = operands_of(operation.op) > 1;
    const Recorded none(0.0);
    return tangent_of(operation.op, number(x[0]), number(zero_if_none(t[0])), two ? number(x[1]) : none,
                      number(zero_if_none(t[1])));
  }

  Recording& recording_;
  const std::function<std::int32_t(const Load&)>& of_load_;
  std::vector<std::int32_t> tangents_;
};

class Reverse {
 public:
  Reverse(Recording& recording, const std::function<bool(const Load&)>& is_wanted) : recording_(recording) {
    const auto n = recording.operations().size();
    matters_.assign(n, false);
    adjoint_.assign(n, kZero);
    for (std::size_t i = 0; i < n; ++i) {
      const Operation& operation = recording.operations()[i];
      if (operation.op == Op::load) matters_[i] = is_wanted(operation.from());
      if (operation.op == Op::look_up) refuse_wanted(operation.looked_up(), is_wanted);
      for (int k = 0; k < operands_of(operation.op); ++k)
        if (derives_through(operation.op, k) && matters_[static_cast<std::size_t>(operation.operand[k])])
          matters_[i] = true;
    }
  }
  void add(std::int32_t name, std::int32_t term) {
    const auto i = static_cast<std::size_t>(name);
    if (!matters_[i]) return;
    adjoint_[i] = adjoint_[i] == kZero ? term : recording_.make(Op::add, adjoint_[i], term);
  }
  std::vector<Adjoint> run() {
    for (std::size_t i = adjoint_.size(); i-- > 0;)
      if (adjoint_[i] != kZero) carry(static_cast<std::int32_t>(i), adjoint_[i]);
    std::vector<Adjoint> found;
    for (std::size_t i = 0; i < adjoint_.size(); ++i)
      if (adjoint_[i] != kZero && recording_.operations()[i].op == Op::load)
        found.push_back({static_cast<std::int32_t>(i), adjoint_[i]});
    return found;
  }

 private:
  static void refuse_wanted(const LookUp& table, const std::function<bool(const Load&)>& is_wanted) {
    if (is_wanted({table.input, table.element, 0, table.imaginary}))
      throw NotRecordable("a table that it looks up depends on unknowns");
  }
  bool matters(std::int32_t name) const { return name >= 0 && matters_[static_cast<std::size_t>(name)]; }
  /// An adjoint times a partial derivative.
  std::int32_t times(std::int32_t adjoint, std::int32_t partial) {
    // What does not matter does not spoil: 0 times an infinite partial derivative adds nothing.
    const bool finite = recording_.is_constant(partial) && std::isfinite(recording_.constant_of(partial));
    return recording_.make(finite ? Op::multiply : Op::weigh, adjoint, partial);
  }
  /// From a number to those that it is made from.
  void carry(std::int32_t name, std::int32_t adjoint) {
    const Operation operation = recording_[name];
    const std::int32_t* const x = operation.operand;
    switch (operation.op) {
      case Op::load:
        return;
      case Op::negate:
        return add(x[0], recording_.make(Op::negate, adjoint));
      case Op::add:
        add(x[0], adjoint);
        return add(x[1], adjoint);
      case Op::subtract:
        add(x[0], adjoint);
        return matters(x[1]) ? add(x[1], recording_.make(Op::negate, adjoint)) : void();
      case Op::multiply:
      case Op::weigh:
        for (const int k : {0, 1})
          if (matters(x[k])) add(x[k], times(adjoint, x[1 - k]));
        return;
      case Op::divide:
        if (matters(x[0])) add(x[0], times(adjoint, recording_.make(Op::divide, recording_.constant(1), x[1])));
        if (matters(x[1]))
          add(x[1], times(adjoint, recording_.make(Op::negate, recording_.make(Op::divide, name, x[1]))));
        return;
      case Op::with_value:
        return add(x[0], adjoint);
      case Op::select: {
        const std::int32_t zero = recording_.constant(0);
        if (matters(x[1])) add(x[1], recording_.make(Op::select, x[0], adjoint, zero));
        if (matters(x[2])) add(x[2], recording_.make(Op::select, x[0], zero, adjoint));
        return;
      }
      default:
        return carry_function(operation, adjoint);
    }
  }
  void carry_function(const Operation& operation, std::int32_t adjoint) {
    const std::int32_t* const x = operation.operand;
    const bool two = operands_of(operation.op) > 1;
    const Recorded zero(0.0), one(1.0);
    for (int k = 0; k < (two ? 2 : 1); ++k)
      if (matters(x[k]))
        add(x[k], times(adjoint, tangent_of(operation.op, number(x[0]), k == 0 ? one : zero, two ? number(x[1]) : zero,
                                            k == 1 ? one : zero)));
  }

  Recording& recording_;
  std::vector<bool> matters_;
  std::vector<std::int32_t> adjoint_;
};

}  // namespace

std::vector<std::int32_t> tangents(Recording& recording, std::span<const std::int32_t> names,
                                   const std::function<std::int32_t(const Load&)>& of_load, std::size_t n_operation) {
  Forward forward(recording, of_load);
  forward.run(n_operation);
  std::vector<std::int32_t> found;
  for (const std::int32_t name : names) found.push_back(name < 0 ? kZero : forward[name]);
  return found;
}

std::vector<Adjoint> adjoints(Recording& recording, std::span<const Adjoint> outcomes,
                              const std::function<bool(const Load&)>& is_wanted) {
  Reverse reverse(recording, is_wanted);
  for (const Adjoint& outcome : outcomes) reverse.add(outcome.name, outcome.adjoint);
  return reverse.run();
}

}  // namespace rimetree::program
