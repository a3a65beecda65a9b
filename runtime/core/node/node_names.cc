#include "runtime/core/node/node_names.h"

#include <functional>

namespace rimetree {

std::string_view NodeNames::name(int node) const {
  const std::size_t first = node > 0 ? end_[static_cast<std::size_t>(node) - 1] : 0;
  return std::string_view(text_).substr(first, end_[static_cast<std::size_t>(node)] - first);
}

/// Where in the table a name is, or would be.
std::size_t NodeNames::place_of(std::string_view wanted) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = std::hash<std::string_view>()(wanted) & mask;
  while (table_[place] >= 0 && name(table_[place]) != wanted) place = (place + 1) & mask;
  return place;
}

void NodeNames::grow() {
  std::vector<int> old(table_.empty() ? 64 : 2 * table_.size(), -1);
  old.swap(table_);
  for (const int node : old)
    if (node >= 0) table_[place_of(name(node))] = node;
}

int NodeNames::add(std::string_view name, std::string_view origin) {
  if (2 * size() >= table_.size()) grow();
  const std::size_t place = place_of(name);
  const int number = static_cast<int>(size());
  text_ += name;
  end_.push_back(text_.size());
  if (origins_.empty() || origins_[origin_.back()] != origin) {
    auto known = origin_numbers_.find(origin);
    if (known == origin_numbers_.end()) {
      known = origin_numbers_.emplace(origin, static_cast<std::uint32_t>(origins_.size())).first;
      origins_.emplace_back(origin);
    }
    origin_.push_back(known->second);
  } else {
    origin_.push_back(origin_.back());
  }
  if (table_[place] < 0) table_[place] = number;
  return table_[place];
}

int NodeNames::find(std::string_view name) const { return table_.empty() ? -1 : table_[place_of(name)]; }

}  // namespace rimetree
