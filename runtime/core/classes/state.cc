#include "runtime/core/classes/state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

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

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

void check_limits(const StateSpec& spec, double value) {
  if (spec.limits == Limits{} || spec.limits.allow(value)) return;
  throw StateError("state field \"" + spec.name + "\" is " + number_text(value) + ", expected " +
                   to_string(spec.limits) + (spec.unit.empty() ? "" : " (" + spec.unit + ")"));
}

void check_choice(const StateSpec& spec, const std::string& value) {
  if (spec.choices.empty() || std::ranges::find(spec.choices, value) != spec.choices.end()) return;
  std::string expected;
  for (std::size_t k = 0; k < spec.choices.size(); ++k)
    expected += (k == 0 ? "\"" : k + 1 < spec.choices.size() ? ", \"" : " or \"") + spec.choices[k] + "\"";
  throw StateError("state field \"" + spec.name + "\" is \"" + value + "\", expected " + expected);
}

/// A value of the field's type, not yet held to its limits and choices.
StateValue of_type(const StateSpec& spec, const StateValue& given) {
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

StateValue converted(const StateSpec& spec, const StateValue& given) {
  StateValue value = of_type(spec, given);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) check_limits(spec, static_cast<double>(*integer));
  if (const auto* real = std::get_if<double>(&value)) check_limits(spec, *real);
  if (const auto* text = std::get_if<std::string>(&value)) check_choice(spec, *text);
  return value;
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

bool is_same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Bit by bit: 0 and -0 are two values.
bool is_same(const StateValue& a, const StateValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* real = std::get_if<double>(&a)) return is_same(*real, std::get<double>(b));
  const auto* array = std::get_if<StateArray>(&a);
  if (array == nullptr) return a == b;
  const auto& other = std::get<StateArray>(b);
  return array->shape == other.shape && array->type == other.type &&
         std::equal(array->data.begin(), array->data.end(), other.data.begin(), other.data.end(),
                    [](double x, double y) { return is_same(x, y); });
}

void check_names(const std::vector<StateSpec>& specification, const std::map<std::string, StateValue>& given) {
  for (const auto& [name, value] : given) {
    if (std::any_of(specification.begin(), specification.end(), [&](const auto& spec) { return spec.name == name; }))
      continue;
    std::string known;
    for (const auto& spec : specification) known += (known.empty() ? "" : ", ") + spec.name;
    throw StateError("unknown state field \"" + name + "\"; " +
                     (known.empty() ? "this class has none" : "this class has " + known));
  }
}

[[noreturn]] void throw_missing(const StateSpec& spec) {
  throw StateError("state field \"" + spec.name + "\" must be given: " + type_name(spec.type) + ", " + spec.doc);
}

}  // namespace

std::string to_string(const Limits& limits) {
  if (limits == kInt32) return "of 32 bits";
  const bool both = !std::isinf(limits.least) && !std::isinf(limits.most);
  const bool of_32_bits = limits.most == kInt32.most;
  if (both && !limits.without_least && !limits.without_most && !of_32_bits)
    return number_text(limits.least) + " to " + number_text(limits.most);
  std::string text;
  if (!std::isinf(limits.least)) text = (limits.without_least ? "above " : "at least ") + number_text(limits.least);
  if (std::isinf(limits.most) && !limits.without_most) return text;
  if (!text.empty()) text += " and ";
  if (std::isinf(limits.most)) return text + "finite";
  if (of_32_bits) return text + "of 32 bits";
  return text + (limits.without_most ? "below " : "at most ") + number_text(limits.most);
}

State State::defaults(const std::vector<StateSpec>& specification) {
  auto defaults = std::make_shared<Defaults>();
  defaults->specification = &specification;
  defaults->fingerprint = defaults->for_batch = 0;
  for (const StateSpec& spec : specification) {
    const bool is_required = std::holds_alternative<std::monostate>(spec.default_value);
    if (is_required) defaults->must_be_given.push_back(defaults->values.size());
    defaults->values.push_back(is_required ? spec.default_value : converted(spec, spec.default_value));
    const auto add = [&](std::uint64_t seed) { return mixed(mix(seed, spec.name), defaults->values.back()); };
    defaults->fingerprint = add(defaults->fingerprint);
    if (!spec.per_node) defaults->for_batch = add(defaults->for_batch);
  }
  State state;
  state.defaults_ = std::move(defaults);
  return state;
}

State State::with(const std::map<std::string, StateValue>& given) const {
  State state = *this;
  if (given.empty() && (given_ != nullptr || defaults_->must_be_given.empty())) return state;
  const std::vector<StateSpec>& specification = *defaults_->specification;
  check_names(specification, given);
  Given own;
  for (std::size_t field = 0; field < specification.size(); ++field) {
    const StateSpec& spec = specification[field];
    const auto it = given.find(spec.name);
    const StateValue &plain = defaults_->values[field], &before = this->value(field);
    const bool is_given = it != given.end() && !std::holds_alternative<std::monostate>(it->second);
    StateValue value = is_given ? converted(spec, it->second) : it == given.end() ? before : plain;
    if (std::holds_alternative<std::monostate>(value)) throw_missing(spec);
    if (!is_same(value, plain)) own.emplace_back(field, std::move(value));
  }
  own.shrink_to_fit();
  state.given_ = own.empty() ? nullptr : std::make_shared<const Given>(std::move(own));
  return state;
}

const StateValue& State::value(std::size_t field) const {
  if (given_ != nullptr)
    for (const auto& [own, value] : *given_)
      if (own == field) return value;
  return defaults_->values[field];
}

const StateValue* State::find(std::string_view name) const {
  if (defaults_ == nullptr) return nullptr;
  const std::vector<StateSpec>& specification = *defaults_->specification;
  for (std::size_t field = 0; field < specification.size(); ++field)
    if (specification[field].name == name) return &value(field);
  return nullptr;
}

std::size_t State::choice(std::string_view name) const {
  const std::string& own = text(name);
  const auto spec = std::ranges::find(*defaults_->specification, name, &StateSpec::name);
  return static_cast<std::size_t>(std::ranges::find(spec->choices, own) - spec->choices.begin());
}

std::map<std::string, StateValue> State::values() const {
  std::map<std::string, StateValue> all;
  if (defaults_ == nullptr) return all;
  for (std::size_t field = 0; field < defaults_->values.size(); ++field)
    all[(*defaults_->specification)[field].name] = value(field);
  return all;
}

bool State::is_same_as(const State& other) const {
  if (defaults_ != other.defaults_) return false;
  if (given_ == nullptr || other.given_ == nullptr) return given_ == other.given_;
  return std::ranges::equal(*given_, *other.given_, [](const auto& a, const auto& b) {
    return a.first == b.first && is_same(a.second, b.second);
  });
}

std::vector<std::int64_t> State::integers(std::string_view name) const {
  const StateArray& values = array(name);
  std::vector<std::int64_t> result;
  for (const double value : values.data) {
    if (values.type == NumberType::complex || value != std::rint(value) || std::abs(value) > 1e15)
      throw StateError("state field \"" + std::string(name) + "\" must hold integers");
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

std::uint64_t State::fingerprint(bool for_batch) const {
  if (defaults_ == nullptr) return 0;
  std::uint64_t seed = for_batch ? defaults_->for_batch : defaults_->fingerprint;
  if (given_ == nullptr) return seed;
  for (const auto& [field, value] : *given_)
    if (!for_batch || !(*defaults_->specification)[field].per_node)
      seed = mixed(mix(seed, std::uint64_t{field}), value);
  return seed;
}

}  // namespace rimetree
