// A node's state: the record of named values a script gives it, checked against what its class declares.
#pragma once

#include <complex>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/core/classes/shared_numbers.h"
#include "runtime/core/values/vells.h"

namespace rimetree {

/// An array of any rank as it comes from a script, row-major; real arrays are stored as such.
struct StateArray {
  std::vector<std::int64_t> shape;
  NumberType type = NumberType::real;
  SharedNumbers data;  ///< interleaved re, im if complex

  std::size_t size() const { return type == NumberType::complex ? data.size() / 2 : data.size(); }
  friend bool operator==(const StateArray&, const StateArray&) = default;
};

using StateValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>, StateArray>;

enum class StateType : std::uint8_t { boolean, integer, real, text, text_list, array };

/// Numbers from `least` to `most`, which are among them unless said otherwise; never NaN, if there is any limit.
struct Limits {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool without_least = false, without_most = false;

  bool allow(double value) const {
    return (without_least ? value > least : value >= least) && (without_most ? value < most : value <= most);
  }
  friend bool operator==(const Limits&, const Limits&) = default;
};
inline constexpr Limits kInt32{.least = std::numeric_limits<std::int32_t>::min(),
                               .most = std::numeric_limits<std::int32_t>::max()};
inline constexpr Limits kFiniteNumbers{.without_least = true, .without_most = true};
/// "0 to 1", "at least 0 and below 1", "finite"; "" where there are none.
std::string to_string(const Limits& limits);

/// A state field as a node class declares it: type, default, unit, meaning.
struct StateSpec {
  std::string name;
  StateType type = StateType::real;
  StateValue default_value;  ///< std::monostate: must be given
  std::string unit;
  std::string doc;
  bool per_node = false;                  ///< nodes that differ only in such fields are still evaluated in one batch
  std::vector<std::string> choices = {};  ///< all that a text may be; empty: any
  Limits limits = {};                     ///< of an integer or a real number
};

/// The values of a node's fields. Nodes of a class share what is at its default, so that a forest of a million nodes
/// holds only what differs.
class State {
 public:
  State() = default;
  /// Checks names and types against the specification and fills in defaults; integers are accepted for reals, and both
  /// for arrays. The specification must outlive all copies. Throws StateError.
  State(const std::vector<StateSpec>& specification, const std::map<std::string, StateValue>& given)
      : State(defaults(specification).with(given)) {}
  /// Nothing but defaults; with() says which fields must be given.
  static State defaults(const std::vector<StateSpec>& specification);
  /// The same state but for these fields; std::monostate puts one back to its default. Throws StateError.
  State with(const std::map<std::string, StateValue>& given) const;

  bool boolean(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  /// Which of its field's choices a text is.
  std::size_t choice(std::string_view name) const;
  const std::vector<std::string>& text_list(std::string_view name) const { return get<std::vector<std::string>>(name); }
  const StateArray& array(std::string_view name) const { return get<StateArray>(name); }
  /// The elements of an array of integers; throws StateError if one is not whole.
  std::vector<std::int64_t> integers(std::string_view name) const;

  /// nullptr: there is no such field.
  const StateValue* find(std::string_view name) const;
  /// All fields by name.
  std::map<std::string, StateValue> values() const;
  /// Fingerprint of the fields; `for_batch` leaves out those declared per_node.
  std::uint64_t fingerprint(bool for_batch) const;
  /// Whether all values are the same, bit by bit.
  bool is_same_as(const State& other) const;

 private:
  struct Defaults {
    const std::vector<StateSpec>* specification = nullptr;
    std::vector<StateValue> values;          // by field
    std::uint64_t fingerprint, for_batch;    // of them
    std::vector<std::size_t> must_be_given;  // fields that have none
  };
  using Given = std::vector<std::pair<std::size_t, StateValue>>;  // by field, those that are not at their default

  const StateValue& value(std::size_t field) const;
  template <class T>
  const T& get(std::string_view name) const {
    const StateValue* value = find(name);
    if (value == nullptr) throw std::out_of_range("no state field \"" + std::string(name) + "\"");
    return std::get<T>(*value);
  }
  std::shared_ptr<const Defaults> defaults_;
  std::shared_ptr<const Given> given_;  // nullptr: none
};

}  // namespace rimetree
