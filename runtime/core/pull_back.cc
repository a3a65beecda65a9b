#include "runtime/core/pull_back.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/cell_loop.h"
#include "runtime/core/error.h"
#include "runtime/core/node.h"
#include "runtime/core/thread_pool.h"

namespace rimetree {

namespace {

/// Bytes of private copies of adjoints that nodes of a batch fill side by side.
constexpr std::size_t kPrivateBytes = std::size_t{64} << 20;

double* numbers(Vells& vells) { return vells.is_complex() ? &vells.complex()->re : vells.real(); }
const double* numbers(const Vells& vells) { return vells.is_complex() ? &vells.complex()->re : vells.real(); }

/// A child's adjoint to which several nodes of a batch add, and what they add.
struct SharedAdjoint {
  Vells* target;
  std::vector<Vells> contributions;
};

}  // namespace

Vells zeros(memory::Pool& pool, NumberType type, const TensorShape& dims, const CellShape& cells) {
  Vells vells(pool, type, dims, cells);
  if (vells.bytes() > 0) std::memset(static_cast<void*>(numbers(vells)), 0, vells.bytes());
  return vells;
}

Vells on_cells(memory::Pool& pool, const Vells& values, const Vells& like) {
  Vells result(pool, like.type(), like.dims(), like.cells());
  const auto stride = broadcast_strides(values.cells());
  std::size_t i = 0;
  for (std::size_t e = 0; e < like.dims().size(); ++e)
    for_each_cell(like.cells(), [&](const std::array<int, kAxes>& cell) {
      const Complex<double> x = values.at(e, offset_of(cell, stride));
      if (result.is_complex())
        result.complex()[i++] = x;
      else
        result.real()[i++] = x.re;
    });
  return result;
}

void add_to(Vells& target, const Vells& values) {
  double* to = numbers(target);
  const double* from = numbers(values);
  const std::size_t n = values.bytes() / sizeof(double);
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

const Vells* PullBack::tangent(std::size_t slot) const {
  const auto it = tangents.find(slot);
  return it == tangents.end() || it->second->derivatives.empty() ? nullptr : &it->second->derivatives.front().value;
}

void PullBack::pass_on(std::size_t slot) {
  if (child(slot) != nullptr) add_to(*child(slot), adjoint);
}

void Node::pull_back(PullBack&) const { throw Error("the class has no derivatives in reverse mode (Node::pull_back)"); }

void Node::pull_back_guarded(PullBack& pull) {
  try {
    pull.inputs.node.pull_back(pull);
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    pull.failure = error.what();
  }
}

// Nodes that share a child each get an adjoint of their own to add to, and these are then added up in the order of the
// nodes: no two threads write to one place, and bits depend neither on their number nor on the size of a portion.
void Node::pull_back_batch(BatchContext& context, std::span<PullBack* const> batch) const {
  std::map<const Vells*, int> users;
  for (const PullBack* pull : batch) {
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
      for (std::size_t i = first; i < last; ++i) pull_back_guarded(*batch[begin + i]);
    };
    if (single_threaded())
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
