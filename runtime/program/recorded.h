// A number that records: a formula run on it leaves its elementary operations in the current Recording. Where a plain
// number would be compared to decide what is done, the formula is run once for either outcome, and what it gives is
// selected by the condition (record_paths()).
#pragma once

#include <type_traits>
#include <vector>

#include "runtime/math/double_double.h"
#include "runtime/program/recording.h"

namespace rimetree {

class Recorded;

/// What is known only when the program runs: 1 or 0.
class RecordedCondition {
 public:
  explicit RecordedCondition(std::int32_t name) : name_(name) {}
  std::int32_t name() const { return name_; }
  /// Which way the formula goes this time. Throws NotRecordable where there are too many ways.
  operator bool() const { return program::Recording::current().decide(name_); }

 private:
  std::int32_t name_;
};

class Recorded {
 public:
  Recorded() : Recorded(0.0) {}
  // Implicit on purpose: constants enter formulae as numbers.
  Recorded(double number) : name_(program::Recording::current().constant(number)) {}
  template <class A>
  requires(std::is_arithmetic_v<A> && !std::is_same_v<A, double>) Recorded(A number)
      : Recorded(static_cast<double>(number)) {}
  /// A number of the current recording.
  static Recorded named(std::int32_t name) { return Recorded(name, nullptr); }
  std::int32_t name() const { return name_; }

  using Op = program::Op;
  friend Recorded operator+(Recorded a, Recorded b) { return made(Op::add, a, b); }
  friend Recorded operator-(Recorded a, Recorded b) { return made(Op::subtract, a, b); }
  friend Recorded operator-(Recorded a) { return made(Op::negate, a); }
  friend Recorded operator*(Recorded a, Recorded b) { return made(Op::multiply, a, b); }
  friend Recorded operator/(Recorded a, Recorded b) { return made(Op::divide, a, b); }
  Recorded& operator+=(Recorded b) { return *this = *this + b; }
  Recorded& operator-=(Recorded b) { return *this = *this - b; }
  Recorded& operator*=(Recorded b) { return *this = *this * b; }
  friend RecordedCondition operator<(Recorded a, Recorded b) { return compared(Op::less, a, b); }
  friend RecordedCondition operator>(Recorded a, Recorded b) { return compared(Op::less, b, a); }
  friend RecordedCondition operator<=(Recorded a, Recorded b) { return compared(Op::less_equal, a, b); }
  friend RecordedCondition operator>=(Recorded a, Recorded b) { return compared(Op::less_equal, b, a); }
  friend RecordedCondition operator==(Recorded a, Recorded b) { return compared(Op::equal, a, b); }
  friend bool operator!=(Recorded a, Recorded b) { return !static_cast<bool>(a == b); }

  static Recorded made(Op op, Recorded a) { return named(program::Recording::current().make(op, a.name_)); }
  static Recorded made(Op op, Recorded a, Recorded b) {
    return named(program::Recording::current().make(op, a.name_, b.name_));
  }

 private:
  Recorded(std::int32_t name, std::nullptr_t) : name_(name) {}
  static RecordedCondition compared(Op op, Recorded a, Recorded b) {
    return RecordedCondition(program::Recording::current().make(op, a.name_, b.name_));
  }
  std::int32_t name_;
};

inline bool is_always_zero(const Recorded& x) {
  const program::Recording& recording = program::Recording::current();
  return recording.is_constant(x.name()) && recording.constant_of(x.name()) == 0;
}

/// Not derived through, as with dual numbers.
inline Recorded value_of(Recorded x) { return Recorded::made(program::Op::detach, x); }
inline Recorded with_value(Recorded x, Recorded value) { return Recorded::made(program::Op::with_value, x, value); }

/// One of two numbers; both are made.
inline Recorded chosen(RecordedCondition condition, Recorded yes, Recorded no) {
  return Recorded::named(
      program::Recording::current().make(program::Op::select, condition.name(), yes.name(), no.name()));
}

#define RT_RECORDED_FUNCTION(name, op) \
  inline Recorded name(Recorded a) { return Recorded::made(program::Op::op, a); }
RT_RECORDED_FUNCTION(exp, exp)
RT_RECORDED_FUNCTION(log, log)
RT_RECORDED_FUNCTION(log1p, log1p)
RT_RECORDED_FUNCTION(sqrt, sqrt)
RT_RECORDED_FUNCTION(sin, sin)
RT_RECORDED_FUNCTION(cos, cos)
RT_RECORDED_FUNCTION(tan, tan)
RT_RECORDED_FUNCTION(asin, asin)
RT_RECORDED_FUNCTION(acos, acos)
RT_RECORDED_FUNCTION(atan, atan)
RT_RECORDED_FUNCTION(sinh, sinh)
RT_RECORDED_FUNCTION(cosh, cosh)
RT_RECORDED_FUNCTION(tanh, tanh)
RT_RECORDED_FUNCTION(abs, absolute)
RT_RECORDED_FUNCTION(rint, round)
RT_RECORDED_FUNCTION(sinc, sinc)
#undef RT_RECORDED_FUNCTION
inline Recorded atan2(Recorded y, Recorded x) { return Recorded::made(program::Op::atan2, y, x); }
inline Recorded pow(Recorded a, Recorded b) { return Recorded::made(program::Op::pow, a, b); }
inline Recorded weighed(Recorded weight, Recorded x) { return Recorded::made(program::Op::weigh, weight, x); }
inline Recorded hypot(Recorded a, Recorded b) { return Recorded::made(program::Op::hypot, a, b); }

namespace exact {
template <>
inline DoubleDouble<Recorded> product(Recorded a, Recorded b) {
  return {a * b, Recorded::made(program::Op::product_error, a, b)};
}
}  // namespace exact

/// The names of the numbers that a formula gives, whichever way it goes: `formula` is called for each of them, and says
/// the same number of names each time.
template <class Formula>
std::vector<std::int32_t> record_paths(const Formula& formula) {
  auto& recording = program::Recording::current();
  program::Recording::Paths paths(recording);
  do {
    paths.add(formula());
  } while (paths.next());
  return paths.names();
}

/// One of these formulae, its ways joined where it ends: what follows is done once.
template <class Formula>
auto record_joined(const Formula& formula) {
  using Result = decltype(formula());
  if constexpr (std::is_same_v<Result, Recorded>) {
    return Recorded::named(record_paths([&] { return std::vector<std::int32_t>{formula().name()}; })[0]);
  } else {
    const auto names = record_paths([&] {
      const auto [first, second] = formula();
      return std::vector<std::int32_t>{first.name(), second.name()};
    });
    return Result{Recorded::named(names[0]), Recorded::named(names[1])};
  }
}

// Formulae of runtime/math that decide by values.
inline Recorded n_offset(Recorded l, Recorded m, Recorded n, int n_minus) {
  return record_joined([&] { return n_offset<Recorded>(l, m, n, n_minus); });
}
inline DoubleDouble<Recorded> n_offset_exact(Recorded l, Recorded m, Recorded n, int n_minus) {
  return record_joined([&] { return n_offset_exact<Recorded>(l, m, n, n_minus); });
}
inline Complex<Recorded> sqrt(Complex<Recorded> z) {
  return record_joined([&] { return sqrt<Recorded>(z); });
}
inline Complex<Recorded> pow(Complex<Recorded> a, Complex<Recorded> b) {
  return record_joined([&] { return pow<Recorded>(a, b); });
}

}  // namespace rimetree
