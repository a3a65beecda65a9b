#include "runtime/core/node/batch_kernel.h"

#include <algorithm>
#include <map>

#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

namespace {

/// Bytes of private copies of adjoints that nodes of a batch fill side by side.
constexpr std::size_t kPrivateBytes = std::size_t{64} << 20;

/// A child's adjoint to which several nodes of a batch add, and what they add.
struct SharedAdjoint {
  Vells* target;
  std::vector<Vells> contributions;
};

}  // namespace

BatchKernel::~BatchKernel() = default;  // here, so that all libraries know one and the same class

void BatchKernel::guarded_evaluate(Evaluation& evaluation) {
  try {
    evaluation.node.evaluate(evaluation);
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;  // the evaluation's, not the node's: with a smaller budget it may succeed
  } catch (...) {
    evaluation.fail(message_of_caught());
  }
}

void BatchKernel::evaluate(BatchContext& context, std::span<Evaluation* const> batch) {
  if (batch.front()->node.traits().single_threaded) {
    for (Evaluation* evaluation : batch) guarded_evaluate(*evaluation);
    return;
  }
  // A few ranges per thread even out unequal nodes without a queue operation for each.
  const std::size_t grain =
      std::max<std::size_t>(1, batch.size() / (8 * static_cast<std::size_t>(context.threads.size())));
  context.threads.parallel_for(
      batch.size(), grain,
      [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i) guarded_evaluate(*batch[i]);
      },
      &context.cancellation);
}

void BatchKernel::guarded_pull_back(PullBack& pull) {
  try {
    pull.inputs.node.pull_back(pull);
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;
  } catch (...) {
    pull.failure = message_of_caught();
  }
}

// Nodes that share a child each get an adjoint of their own to add to, and these are then added up in the order of the
// nodes: no two threads write to one place, and bits depend neither on their number nor on the size of a portion.
void BatchKernel::pull_back(BatchContext& context, std::span<PullBack* const> batch) {
  std::map<const Vells*, int> users;
  for (const PullBack* pull : batch) {
    for (std::size_t slot = 0; slot < pull->children_.size(); ++slot) pull->child(slot);  // made on one thread
    std::vector<Vells*> distinct = pull->children_;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (const Vells* child : distinct) ++users[child];
  }
  for (std::size_t begin = 0; begin < batch.size();) {
    std::vector<SharedAdjoint> shared;
    std::map<const Vells*, std::size_t> index;
    std::size_t end = begin, bytes = 0;
    for (; end < batch.size() && bytes < kPrivateBytes; ++end) {
      std::map<const Vells*, Vells*> own;
      for (Vells*& child : batch[end]->children_) {
        if (child == nullptr || users[child] == 1) continue;
        const auto [at, fresh] = index.try_emplace(child, shared.size());
        if (fresh) {
          shared.push_back({child, {}});
          shared.back().contributions.reserve(batch.size() - begin);  // pointers to them must stay valid
        }
        Vells*& copy = own[child];
        if (copy == nullptr) {
          SharedAdjoint& all = shared[at->second];
          all.contributions.push_back(zeros(batch[end]->inputs.pool, child->type(), child->dims(), child->cells()));
          copy = &all.contributions.back();
          bytes += copy->bytes();
        }
        child = copy;
      }
    }
    const std::size_t n = end - begin;
    const std::size_t grain = std::max<std::size_t>(1, n / (8 * static_cast<std::size_t>(context.threads.size())));
    const auto pull_range = [&](std::size_t first, std::size_t last, int) {
      for (std::size_t i = first; i < last; ++i) guarded_pull_back(*batch[begin + i]);
    };
    if (batch.front()->inputs.node.traits().single_threaded)
      pull_range(0, n, 0);
    else
      context.threads.parallel_for(n, grain, pull_range, &context.cancellation);
    context.threads.parallel_for(
        shared.size(), 1,
        [&](std::size_t first, std::size_t last, int) {
          for (std::size_t i = first; i < last; ++i)
            for (const Vells& contribution : shared[i].contributions) add_to(*shared[i].target, contribution);
        },
        &context.cancellation);
    begin = end;
  }
}

}  // namespace rimetree
