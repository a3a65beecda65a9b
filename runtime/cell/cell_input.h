// What a class says of the numbers that it takes and gives, and what its function of one cell sees where it is called
// cell by cell.
#pragma once

#include <optional>
#include <vector>

#include "runtime/cell/cell_operand.h"

namespace rimetree {

template <class Derived>
class CellNode;

/// Which numbers a class takes and gives.
enum class Numbers {
  same,             ///< complex if any child is, else real; gives the same
  real_to_real,     ///< real children only
  real_to_complex,  ///< real children only, gives complex
  any_to_real,      ///< gives real whatever the children are
  any_to_complex,   ///< children are promoted to complex
};

/// What a class's function of one cell sees. N is double, Dual<double>, Traced<double>, long double, or Complex of
/// these.
template <class N>
class CellInput {
 public:
  using Number = N;
  using Real = typename cell_detail::NumberTraits<N>::Real;

  /// Value of an element of a child on this cell.
  N operator()(std::size_t child, std::size_t element = 0) const {
    if (!has(child)) cell_detail::refuse_read(child, element, nullptr);
    if (element >= dims(child).size()) cell_detail::refuse_read(child, element, &dims(child));
    return operands_[child]->template load<N>(element);
  }
  /// An element of a table whose entries have so many elements each, of the entry that a number says: any integer from
  /// 0 up to the last entry.
  N look_up(std::size_t child, Real entry, std::size_t elements, std::size_t element) const {
    return (*this)(child, static_cast<std::size_t>(value_of(entry)) * elements + element);
  }
  std::size_t n_children() const { return operands_.size(); }
  bool has(std::size_t child) const { return child < operands_.size() && operands_[child].has_value(); }
  /// Dimensions of a child.
  const TensorShape& dims(std::size_t child) const { return operands_[child]->value->dims(); }

  // Where the cell is, if the class declares the axis (kVariesInTime, kVariesInFrequency).
  double time_s = kNotDeclared, time_width_s = kNotDeclared, frequency_hz = kNotDeclared,
         frequency_width_hz = kNotDeclared;

 private:
  template <class Derived>
  friend class CellNode;
  std::vector<std::optional<cell_detail::Operand>> operands_;
};

}  // namespace rimetree
