#include "nodes/psv/adjoint/uv_adjoint.h"

#include <algorithm>

namespace rimetree::psv::adjoint {

SourceAdjoints pull_back_by_uv_grid(const Summed& of, uv_grid::UvGridPlan& plan, const ResultAdjoints& adjoints,
                                    ThreadPool& threads, Cancellation& cancellation,
                                    const uv_grid::ReverseMemory& memory) {
  const SourceWish wish{.weights = true};
  SourceAdjoints found = zero_adjoints(of.sky, wish);
  uv_grid::pull_back_points(of, plan, {adjoints.row, adjoints.plane_stride}, found.weights.data(), threads,
                            cancellation, memory);
  if (plan.others.n_source == 0) return found;
  const JonesTerms none;
  const SourceAdjoints rest =
      pull_back_rows({plan.others, of.channels, of.rows, none}, adjoints, wish, threads, cancellation);
  std::copy(rest.weights.begin(), rest.weights.end(),
            found.weights.end() - static_cast<std::ptrdiff_t>(rest.weights.size()));
  return found;
}

}  // namespace rimetree::psv::adjoint
