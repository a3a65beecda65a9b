// Adjoints to modes, and cells to sources, once per instruction set; the best that the machine has is chosen at run
// time.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/uv_grid/kernel_uv_reverse.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/uv_grid/samples_reverse-inl.h"

#if HWY_ONCE
namespace rimetree::psv::uv_grid {

HWY_EXPORT(place_adjoint_row);
HWY_EXPORT(spread_to_modes);
HWY_EXPORT(read_gained);

std::size_t samples_of_row(const UvGridPlan& plan, std::size_t n_channel, std::size_t row) {
  const RowMeans& how = plan.means.rows[row];
  if (!how.by_points) return n_channel * how.n_time * how.n_frequency;
  const BandPoints& band = plan.means.bands.at(how.band);
  return band.segments.size() * static_cast<std::size_t>(band.n_point * plan.means.exposures.at(how.exposure).n_point);
}

void place_adjoints(const AdjointRow& row) { HWY_DYNAMIC_DISPATCH(place_adjoint_row)(row); }
void spread_samples(const ModeStrip& strip) { HWY_DYNAMIC_DISPATCH(spread_to_modes)(strip); }
void read_cells(const ReadSources& job) { HWY_DYNAMIC_DISPATCH(read_gained)(job); }

}  // namespace rimetree::psv::uv_grid
#endif  // HWY_ONCE
