// A node's state: the record of named values a script gives it, checked against what its class declares.
#pragma once

#include <complex>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "runtime/core/shared_numbers.h"
#include "runtime/core/vells.h"

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

/// A state field as a node class declares it: type, default, unit, meaning.
struct StateSpec {
  std::string name;
  StateType type = StateType::real;
  StateValue default_value;  ///< std::monostate: must be given
  std::string unit;
  std::string doc;
  bool per_node = false;  ///< nodes that differ only in such fields are still evaluated in one batch
};

class State {
 public:
  State() = default;
  /// Checks names and types against the specification and fills in defaults; integers are accepted for reals, and both
  /// for arrays. Throws StateError.
  State(const std::vector<StateSpec>& specification, const std::map<std::string, StateValue>& given);

  bool boolean(const std::string& name) const { return get<bool>(name); }
  std::int64_t integer(const std::string& name) const { return get<std::int64_t>(name); }
  double real(const std::string& name) const { return get<double>(name); }
  const std::string& text(const std::string& name) const { return get<std::string>(name); }
  const std::vector<std::string>& text_list(const std::string& name) const {
    return get<std::vector<std::string>>(name);
  }
  const StateArray& array(const std::string& name) const { return get<StateArray>(name); }
  /// The elements of an array of integers; throws StateError if one is not whole.
  std::vector<std::int64_t> integers(const std::string& name) const;

  const std::map<std::string, StateValue>& values() const { return values_; }
  /// Fingerprint of the fields; `for_batch` leaves out those declared per_node.
  std::uint64_t fingerprint(const std::vector<StateSpec>& specification, bool for_batch) const;

 private:
  template <class T>
  const T& get(const std::string& name) const {
    return std::get<T>(values_.at(name));
  }
  std::map<std::string, StateValue> values_;
};

}  // namespace rimetree
