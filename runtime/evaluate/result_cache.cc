#include "runtime/evaluate/result_cache.h"

#include <algorithm>

namespace rimetree {

std::uint64_t result_bytes(const Result& result) {
  std::uint64_t bytes = result.value.bytes() + result.flags.size() * sizeof(std::int32_t);
  for (const Derivative& derivative : result.derivatives) bytes += derivative.value.bytes();
  return bytes;
}

void ResultCache::follow_plan(std::size_t n_written, std::size_t n_evaluated) {
  results_.resize(n_written);
  results_.resize(n_evaluated);
  stamps_.resize(n_evaluated, 0);
}

ResultPtr ResultCache::find(int node, std::uint64_t stamp) const {
  const auto i = static_cast<std::size_t>(node);
  return stamps_[i] == stamp ? results_[i] : nullptr;
}

void ResultCache::keep(int node, std::uint64_t stamp, ResultPtr result) {
  const auto i = static_cast<std::size_t>(node);
  results_[i] = std::move(result);
  stamps_[i] = stamp;
}

void ResultCache::drop_other_than(int node, std::uint64_t stamp) {
  const auto i = static_cast<std::size_t>(node);
  if (stamps_[i] != stamp) results_[i] = nullptr;
}

void ResultCache::clear() { std::fill(results_.begin(), results_.end(), nullptr); }

void ResultCache::clear(std::span<const int> nodes) {
  for (const int node : nodes) results_[static_cast<std::size_t>(node)] = nullptr;
}

KeptResults ResultCache::take(const Forest& forest, std::uint64_t plan) {
  KeptResults kept;
  kept.plan = plan;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const int node = static_cast<int>(i);
    const DependencySet on = forest.dependencies(node);
    if (!results_[i] || (on & (kDomain | kData)) == 0 || (on & (kSolvable | kIteration | kCall)) != 0) continue;
    if (results_[i]->value.device() != nullptr) continue;
    const std::uint64_t bytes = result_bytes(*results_[i]);
    kept.all.push_back({node, stamps_[i], std::move(results_[i]), bytes});
  }
  return kept;
}

void ResultCache::put_back(KeptResults kept, std::size_t n_written, std::uint64_t plan) {
  for (KeptResults::One& one : kept.all) {
    // A plan's own nodes are known to it only.
    if (kept.plan != plan && static_cast<std::size_t>(one.node) >= n_written) continue;
    keep(one.node, one.stamp, std::move(one.result));
  }
}

}  // namespace rimetree
