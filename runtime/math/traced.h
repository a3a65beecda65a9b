// Numbers that write down how they were made: a body evaluated on them leaves a tape, and one sweep along it from the
// end gives the derivatives of one outcome with respect to everything that went in (reverse-mode differentiation;
// Griewank & Walther, "Evaluating Derivatives", 2nd ed., section 3.2). Forward mode (dual.h) costs one evaluation for
// each input, a sweep costs a few evaluations whatever their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/math/double_double.h"

namespace rimetree {

/// The operations of a piece of a formula. Made once per thread and used again: it is small and stays in the cache.
template <class T>
class Tape {
 public:
  /// A number that the tape does not know: a constant of the formula.
  static constexpr std::int32_t kPassive = -1;

  /// An input whose derivative is to be added to `target` by flush().
  std::int32_t input(T* target) {
    inputs_.push_back({static_cast<std::int32_t>(entries_.size()), target});
    return push(kPassive, T(0), kPassive, T(0));
  }
  /// A number made from numbers a and b (either may be passive), with its partial derivatives.
  std::int32_t push(std::int32_t a, T partial_a, std::int32_t b, T partial_b) {
    entries_.push_back({partial_a, partial_b, T(0), a, b});
    return static_cast<std::int32_t>(entries_.size()) - 1;
  }
  /// Adds to the derivative of the objective with respect to a number.
  void seed(std::int32_t number, T adjoint) {
    if (number != kPassive) entries_[static_cast<std::size_t>(number)].adjoint += adjoint;
  }
  std::size_t size() const { return entries_.size(); }
  /// Carries derivatives from numbers made since `mark` (an earlier size()) to those before, and forgets the former.
  void sweep(std::size_t mark) {
    for (std::size_t i = entries_.size(); i-- > mark;) propagate(entries_[i]);
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(mark), entries_.end());
  }
  /// Sweeps all, hands the inputs' derivatives over, and starts anew.
  void flush() {
    // Inputs are never made from other numbers: their entries only collect.
    for (std::size_t i = entries_.size(); i-- > 0;) propagate(entries_[i]);
    for (const Input& input : inputs_) *input.target += entries_[static_cast<std::size_t>(input.number)].adjoint;
    clear();
  }
  void clear() {
    entries_.clear();
    inputs_.clear();
  }

 private:
  struct Entry {
    T partial_a, partial_b, adjoint;
    std::int32_t a, b;
  };
  struct Input {
    std::int32_t number;
    T* target;
  };
  void propagate(const Entry& entry) {
    // What does not matter does not spoil: 0 times an infinite partial derivative adds nothing.
    if (entry.adjoint == T(0)) return;
    if (entry.a != kPassive) entries_[static_cast<std::size_t>(entry.a)].adjoint += entry.adjoint * entry.partial_a;
    if (entry.b != kPassive) entries_[static_cast<std::size_t>(entry.b)].adjoint += entry.adjoint * entry.partial_b;
  }
  std::vector<Entry> entries_;
  std::vector<Input> inputs_;
};

/// A value with its place on a tape; without a tape it is a constant.
template <class T>
struct Traced {
  T v{};
  std::int32_t number = Tape<T>::kPassive;
  Tape<T>* tape = nullptr;

  Traced() = default;
  // Implicit on purpose: constants enter formulae as numbers.
  Traced(T value) : v(value) {}
  template <class A>
  requires(std::is_arithmetic_v<A> && !std::is_same_v<A, T>) Traced(A value) : v(static_cast<T>(value)) {}
  Traced(T value, std::int32_t at, Tape<T>* on) : v(value), number(at), tape(on) {}

  friend Traced operator+(Traced a, Traced b) { return made(a.v + b.v, a, T(1), b, T(1)); }
  friend Traced operator-(Traced a, Traced b) { return made(a.v - b.v, a, T(1), b, T(-1)); }
  friend Traced operator-(Traced a) { return made(-a.v, a, T(-1)); }
  friend Traced operator*(Traced a, Traced b) { return made(a.v * b.v, a, b.v, b, a.v); }
  friend Traced operator/(Traced a, Traced b) {
    const T q = a.v / b.v;
    return made(q, a, T(1) / b.v, b, -q / b.v);
  }
  Traced& operator+=(Traced b) { return *this = *this + b; }
  Traced& operator-=(Traced b) { return *this = *this - b; }
  Traced& operator*=(Traced b) { return *this = *this * b; }
  // As with dual numbers, which branch a formula takes depends on values only.
  friend bool operator<(Traced a, Traced b) { return a.v < b.v; }
  friend bool operator>(Traced a, Traced b) { return a.v > b.v; }
  friend bool operator<=(Traced a, Traced b) { return a.v <= b.v; }
  friend bool operator>=(Traced a, Traced b) { return a.v >= b.v; }
  friend bool operator==(Traced a, Traced b) { return a.v == b.v; }

  static Traced made(T value, Traced a, T partial_a) {
    if (a.tape == nullptr) return value;
    return {value, a.tape->push(a.number, partial_a, Tape<T>::kPassive, T(0)), a.tape};
  }
  static Traced made(T value, Traced a, T partial_a, Traced b, T partial_b) {
    Tape<T>* tape = a.tape != nullptr ? a.tape : b.tape;
    if (tape == nullptr) return value;
    return {value, tape->push(a.number, partial_a, b.number, partial_b), tape};
  }
};

template <class T>
T value_of(Traced<T> x) {
  return x.v;
}
template <class T>
struct PlainOf<Traced<T>> {
  using type = T;
};
/// A number with the given value and the derivatives of `x`.
template <class T>
Traced<T> with_value(Traced<T> x, T value) {
  return {value, x.number, x.tape};
}

// The derivative of each function has one text, that of dual numbers.
#define RT_TRACED_FUNCTION(name)                  \
  template <class T>                              \
  Traced<T> name(Traced<T> a) {                   \
    if (a.tape == nullptr) return std::name(a.v); \
    const Dual<T> y = name(Dual<T>(a.v, T(1)));   \
    return Traced<T>::made(y.v, a, y.d);          \
  }
RT_TRACED_FUNCTION(exp)
RT_TRACED_FUNCTION(log)
RT_TRACED_FUNCTION(log1p)
RT_TRACED_FUNCTION(sqrt)
RT_TRACED_FUNCTION(sin)
RT_TRACED_FUNCTION(cos)
RT_TRACED_FUNCTION(tan)
RT_TRACED_FUNCTION(asin)
RT_TRACED_FUNCTION(acos)
RT_TRACED_FUNCTION(atan)
RT_TRACED_FUNCTION(sinh)
RT_TRACED_FUNCTION(cosh)
RT_TRACED_FUNCTION(tanh)
RT_TRACED_FUNCTION(abs)
#undef RT_TRACED_FUNCTION

#define RT_TRACED_FUNCTION(name)                                                             \
  template <class T>                                                                         \
  Traced<T> name(Traced<T> a, Traced<T> b) {                                                 \
    const T partial_a = a.tape != nullptr ? name(Dual<T>(a.v, T(1)), Dual<T>(b.v)).d : T(0); \
    const T partial_b = b.tape != nullptr ? name(Dual<T>(a.v), Dual<T>(b.v, T(1))).d : T(0); \
    return Traced<T>::made(std::name(a.v, b.v), a, partial_a, b, partial_b);                 \
  }
RT_TRACED_FUNCTION(atan2)
RT_TRACED_FUNCTION(pow)
RT_TRACED_FUNCTION(hypot)
#undef RT_TRACED_FUNCTION

}  // namespace rimetree
