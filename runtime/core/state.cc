#include "runtime/core/state.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/error.h"
#include "runtime/core/fingerprint.h"

namespace rimetree {

namespace {

const char* type_name(StateType type) {
  switch (type) {
    case StateType::boolean:
      return "true or false";
    case StateType::integer:
      return "an integer";
    case StateType::real:
      return "a real number";
    case StateType::text:
      return "a string";
    case StateType::text_list:
      return "a list of strings";
    case StateType::array:
      return "a number or an array";
  }
  return "";
}

// Node classes trust the shape when they read the data.
void check_array(const StateSpec& spec, const StateArray& array) {
  std::size_t size = array.type == NumberType::complex ? 2 : 1;
  bool good = true;
  for (const std::int64_t extent : array.shape) {
    good = good && extent >= 0;
    size *= static_cast<std::size_t>(extent);
  }
  if (!good || size != array.data.size())
    throw StateError("state field \"" + spec.name + "\" is an array of " + std::to_string(array.data.size()) +
                     " numbers, which do not fill its shape");
}

StateValue converted(const StateSpec& spec, const StateValue& given) {
  const auto* integer = std::get_if<std::int64_t>(&given);
  const auto* real = std::get_if<double>(&given);
  const auto* array = std::get_if<StateArray>(&given);
  if (array) check_array(spec, *array);
  switch (spec.type) {
    case StateType::boolean:
      if (std::holds_alternative<bool>(given)) return given;
      break;
    case StateType::integer:
      if (integer) return given;
      break;
    case StateType::real:
      if (integer) return static_cast<double>(*integer);
      if (array && array->shape.empty() && array->type == NumberType::real) return array->data[0];
      if (real) return given;
      break;
    case StateType::text:
      if (std::holds_alternative<std::string>(given)) return given;
      break;
    case StateType::text_list:
      if (std::holds_alternative<std::vector<std::string>>(given)) return given;
      if (array && array->size() == 0) return std::vector<std::string>{};  // an empty list has no type of its own
      break;
    case StateType::array:
      if (const auto* boolean = std::get_if<bool>(&given))
        return StateArray{{}, NumberType::real, {*boolean ? 1.0 : 0.0}};
      if (integer) return StateArray{{}, NumberType::real, {static_cast<double>(*integer)}};
      if (real) return StateArray{{}, NumberType::real, {*real}};
      if (array) return given;
      break;
  }
  throw StateError("state field \"" + spec.name + "\" must be " + type_name(spec.type) +
                   (spec.unit.empty() ? "" : " (" + spec.unit + ")"));
}

std::uint64_t mixed(std::uint64_t seed, const StateValue& value) {
  seed = mix(seed, std::uint64_t{value.index()});
  if (const auto* b = std::get_if<bool>(&value)) return mix(seed, std::uint64_t{*b});
  if (const auto* i = std::get_if<std::int64_t>(&value)) return mix(seed, static_cast<std::uint64_t>(*i));
  if (const auto* d = std::get_if<double>(&value)) return mix(seed, *d);
  if (const auto* s = std::get_if<std::string>(&value)) return mix(seed, *s);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const auto& text : *list) seed = mix(seed, text);
    return seed;
  }
  if (const auto* array = std::get_if<StateArray>(&value)) {
    for (const auto extent : array->shape) seed = mix(seed, static_cast<std::uint64_t>(extent));
    return mix(mix(seed, std::uint64_t(array->type)), array->data);
  }
  return seed;
}

}  // namespace

State::State(const std::vector<StateSpec>& specification, const std::map<std::string, StateValue>& given) {
  for (const auto& [name, value] : given) {
    if (std::any_of(specification.begin(), specification.end(), [&](const auto& spec) { return spec.name == name; }))
      continue;
    std::string known;
    for (const auto& spec : specification) known += (known.empty() ? "" : ", ") + spec.name;
    throw StateError("unknown state field \"" + name + "\"; " +
                     (known.empty() ? "this class has none" : "this class has " + known));
  }
  for (const StateSpec& spec : specification) {
    const auto it = given.find(spec.name);
    const bool is_given = it != given.end() && !std::holds_alternative<std::monostate>(it->second);
    if (!is_given && std::holds_alternative<std::monostate>(spec.default_value))
      throw StateError("state field \"" + spec.name + "\" must be given: " + type_name(spec.type) + ", " + spec.doc);
    values_[spec.name] = converted(spec, is_given ? it->second : spec.default_value);
  }
}

std::vector<std::int64_t> State::integers(const std::string& name) const {
  const StateArray& values = array(name);
  std::vector<std::int64_t> result;
  for (const double value : values.data) {
    if (values.type == NumberType::complex || value != std::rint(value) || std::abs(value) > 1e15)
      throw StateError("state field \"" + name + "\" must hold integers");
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

std::uint64_t State::fingerprint(const std::vector<StateSpec>& specification, bool for_batch) const {
  std::uint64_t seed = 0;
  for (const StateSpec& spec : specification)
    if (!for_batch || !spec.per_node) seed = mixed(mix(seed, spec.name), values_.at(spec.name));
  return seed;
}

}  // namespace rimetree
