#include "runtime/core/classes/child_dims.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "runtime/core/error.h"

namespace rimetree {

namespace {

/// Names of lengths, in the order in which children gave them.
using Lengths = std::vector<std::pair<std::string_view, std::int32_t>>;

const std::int32_t* find(const Lengths& lengths, std::string_view name) {
  const auto it =
      std::find_if(lengths.begin(), lengths.end(), [&](const auto& length) { return length.first == name; });
  return it == lengths.end() ? nullptr : &it->second;
}

/// Calls f with each part of "a,b,c"; none of "". Stops where f gives false.
template <class F>
bool for_each_extent(std::string_view extents, const F& f) {
  while (!extents.empty()) {
    const std::size_t end = std::min(extents.find(','), extents.size());
    if (!f(extents.substr(0, end))) return false;
    extents.remove_prefix(std::min(end + 1, extents.size()));
  }
  return true;
}

/// Calls f with what is in the brackets of each alternative. False: the text is prose.
template <class F>
bool for_each_alternative(std::string_view text, const F& f) {
  for (;;) {
    const std::size_t end = text.find(']');
    if (!text.starts_with('[') || end == text.npos) return false;
    f(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    if (text.empty()) return true;
    const std::string_view separator = text.starts_with(", ") ? ", " : " or ";
    if (!text.starts_with(separator)) return false;
    text.remove_prefix(separator.size());
  }
}

/// Whether these are the dimensions; new names are added to the lengths if they are.
bool matches(std::string_view extents, const TensorShape& dims, Lengths& lengths) {
  const std::size_t known = lengths.size();
  int d = 0;
  const bool all = for_each_extent(extents, [&](std::string_view extent) {
    if (d == dims.rank) return false;
    const std::int32_t own = dims[d++];
    std::int32_t number = 0;
    if (std::from_chars(extent.begin(), extent.end(), number).ec == std::errc()) return number == own;
    if (const std::int32_t* length = find(lengths, extent)) return *length == own;
    lengths.emplace_back(extent, own);
    return true;
  });
  if (all && d == dims.rank) return true;
  lengths.resize(known);
  return false;
}

/// The alternatives with the lengths that names have.
std::string expected(const std::string& shape, const Lengths& lengths) {
  std::string text;
  for (std::size_t at = 0; at < shape.size();) {
    std::size_t end = at;
    while (end < shape.size() && shape[end] != ',' && shape[end] != '[' && shape[end] != ']') ++end;
    const std::string name = shape.substr(at, end - at);
    const std::int32_t* length = find(lengths, name);
    text += length != nullptr ? std::to_string(*length) : name;
    if (end < shape.size()) text += shape[end];
    at = end + 1;
  }
  return text;
}

void require_dims(const ChildSpec& spec, const TensorShape& dims, Lengths& lengths) {
  bool found = false;
  const bool is_prose = !for_each_alternative(
      spec.shape, [&](std::string_view extents) { found = found || matches(extents, dims, lengths); });
  if (found || is_prose) return;
  throw ShapeError("child \"" + spec.label + "\" has dimensions " + to_string(dims) + ", expected " +
                   expected(spec.shape, lengths) + (spec.doc.empty() ? "" : ": " + spec.doc));
}

}  // namespace

void require_dims(const NodeClass& node_class, std::span<const TensorShape* const> children) {
  const std::vector<ChildSpec>& specs = node_class.children;
  if (specs.empty()) return;
  Lengths lengths;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const ChildSpec& spec = specs[std::min(i, specs.size() - 1)];
    if (children[i] == nullptr) continue;
    const std::size_t known = lengths.size();
    require_dims(spec, *children[i], lengths);
    if (spec.repeated) lengths.resize(known);
  }
}

void DimsCheck::require(const NodeClass& node_class, std::span<const TensorShape* const> children) {
  if (node_class.children.empty()) return;
  std::vector<std::optional<TensorShape>>& good = good_[&node_class];
  const auto same = [](const std::optional<TensorShape>& known, const TensorShape* child) {
    return child == nullptr ? !known : known && *known == *child;
  };
  if (!good.empty() && std::equal(good.begin(), good.end(), children.begin(), children.end(), same)) return;
  require_dims(node_class, children);
  good.clear();
  for (const TensorShape* child : children)
    good.push_back(child == nullptr ? std::nullopt : std::optional<TensorShape>(*child));
}

}  // namespace rimetree
