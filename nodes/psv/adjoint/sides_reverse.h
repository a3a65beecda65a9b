// The adjoint of the sum by the matrix product over sources: as pull_back_rows() of adjoint/adjoint.h, at the cost of
// two products. What an antenna's terms gain is added up over its baselines before it is taken through them.
#pragma once

#include <span>
#include <string>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/matrix/sides_sum.h"

namespace rimetree::psv::adjoint {
using namespace matrix;

/// Why the method cannot give what is wished for; empty if it can. What smearing and shapes gain by moving sources
/// belongs to pairs, and is not done here.
std::string reverse_obstacle(const SidesPlan& plan, const Sky<double>& sky, SourceWish wish);

/// Into how many portions, each with adjoints of its own of so many bytes, windows are shared out.
std::size_t window_portions(std::size_t n_block, std::size_t n_window, std::size_t bytes);

/// `plan`: made with `elements` where weights are asked for. What terms gain is added to JonesTargets::slopes, and not
/// given back, where these are known and sources are many. Bits do not depend on the number of threads. Throws
/// Cancelled.
SourceAdjoints pull_back_by_sides(const Summed& of, const SidesPlan& plan, const ResultAdjoints& adjoints,
                                  SourceWish wish, ThreadPool& threads, Cancellation& cancellation);

/// What the instruction sets' versions share.
struct ReverseSides : SidesProblem {
  const ResultAdjoints& adjoints;
  bool at_once;  ///< what terms gain goes where it ends up
};
/// Adds what some sources gain at a window of a tile's cells.
void pull_back_window(const ReverseSides& job, const SidesTile& tile, std::size_t window,
                      std::span<const SideBlock> blocks, const SidesScratch& scratch, SourceAdjoints& to);

}  // namespace rimetree::psv::adjoint
