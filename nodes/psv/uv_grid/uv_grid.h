// The uv-grid method: visibilities of very many points, as a model image has, by Fourier transforms of the sky.
//   V = sum_s A_s exp(2 pi i (u l_s + v m_s + w n_s))
// Sources go to a grid of directions by a kernel (fourier/gridding.h), two-dimensional transforms give the plane of
// (u, v), and the same kernel interpolates each visibility there ("degridding"). The cost is that of the sources, of
// the transforms, and of the visibilities, not of sources x visibilities. Both steps are products of one of each axis,
// so that bounds of one dimension hold for each.
//
// The third dimension: as the baselines of an array lie near a plane, and n changes little over a field, w n is mostly
// taken into u l + v m (frame.h). What is left is interpolated between a few values of w at Chebyshev points; each has
// a grid of its own. The more common way is a kernel in w, too (Offringa et al. 2014, MNRAS 444, 606; Arras et al.
// 2021, A&A 646, A58): it needs more grids.
//
// What varies along the band: channels may be in any order. Spectra are Chebyshev series, one grid for each term. The
// less flux a term or a Stokes parameter has, the less exact its grids need to be (accuracy.h). Where spectra have
// kinks the band is divided into parts, each with grids of its own. Smearing, the product of the means over exposure
// and channel, is made of samples in and between the cells (means.h), each a visibility of its own: exact in phase for
// all sources.
//
// Sources with a shape are summed up directly, and added.
//
// As brightness planes are real, V(-u, -v, -w) is the conjugate of V(u, v, w): only half of the plane is needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodes/psv/fourier/gridding.h"
#include "nodes/psv/fourier/spectra.h"
#include "nodes/psv/fourier/transform.h"
#include "nodes/psv/summed.h"
#include "nodes/psv/uv_grid/frame.h"
#include "nodes/psv/uv_grid/means.h"
#include "nodes/psv/uv_grid/points.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree::psv::uv_grid {
using namespace fourier;

inline constexpr std::size_t kCellPad = 4;  ///< beside lines, for kernels that reach over them

/// One axis of the grid: directions in cells, and uv in modes, which the transform of n_cell cells gives.
struct GridAxis {
  double cells_per_unit = 0;  ///< of the direction
  double modes_per_wavelength = 0;
  std::size_t n_cell = 0;         ///< of the transform
  std::ptrdiff_t first_cell = 0;  ///< that sources reach; the middle of the field is cell 0
  std::size_t n_used = 0;         ///< cells that they reach
  std::ptrdiff_t first_mode = 0;  ///< that visibilities reach
  std::size_t n_mode = 0;         ///< with kCellPad more, which are 0
  std::shared_ptr<const FourierTransform> transform;
};

/// A kernel that some grids are made and read with.
struct GridKernel {
  const GriddingKernel* kernel;
  std::vector<double> correction[2];  ///< [axis][mode]: 1 / transform of the kernel; made last
};

/// The grids of one plane and one term of the spectra: one for each Chebyshev point in W.
struct GridSeries {
  std::size_t plane = 0, term = 0;
  std::size_t kernel = 0;  ///< of UvGridPlan::kernels
  int n_w = 1;
};
struct GridNumber {
  std::size_t series = 0;
  int w = 0;
};

struct PartOfBand;

struct UvGridPlan {
  /// Where spectra have no series over the whole band: plans of parts of it, in the order of channels, in place of all
  /// but `others` and `bound`.
  std::vector<PartOfBand> parts;
  Frame frame;
  Box sources;      ///< x, y, z
  Box samples;      ///< U, V, W, in wavelengths, after the mirror
  int mirror = -1;  ///< samples with a negative U (0) or V (1) stand for their opposites; -1: none do
  GridAxis axis[2];
  SeriesSky sky;                    ///< points
  Sky<double> others;               ///< sources with a shape: summed up directly
  std::vector<GridKernel> kernels;  ///< the widest first
  std::vector<GridSeries> series;   ///< those that count, in the order of their kernels
  std::vector<GridNumber> grids;    ///< in the order of their series
  CellMeans means;
  double bound = 0;       ///< of the error, as a fraction of the total flux
  std::string obstacle;   ///< why the method cannot be used; the rest is not filled then
  bool is_empty = false;  ///< that is because there is (next to) nothing to sum up

  const GriddingKernel& widest() const { return *kernels.front().kernel; }
  const GriddingKernel& kernel_of(const GridSeries& one) const { return *kernels[one.kernel].kernel; }
  std::size_t grid_size() const { return axis[0].n_mode * axis[1].n_mode; }
};

/// Channels [begin, begin + channels' number).
struct PartOfBand {
  std::size_t begin = 0;
  Channels channels;
  UvGridPlan plan;
};

/// What would be done, and how exact it is. Where it takes longer than `worth_seconds` to find out, which another
/// method needs to be done with everything, that is an obstacle.
UvGridPlan plan_uv_grid(const Summed& of, double tolerance, double worth_seconds);

/// The same for derivatives with respect to the weights of all sources, whose errors are fractions of what there would
/// be if all phases agreed.
UvGridPlan plan_uv_grid_reverse(const Summed& of, double tolerance, double worth_seconds);

struct UvGridSize {
  std::size_t n_source = 0, n_row = 0, n_channel = 0;
  bool smearing = false;
};
/// What to expect before there are data: of a field and an array for which lines of the grid have 4096 cells, which
/// takes W at 6 points for 1e-12, and rows of which take 60 points of the band, and 8 of an exposure; of spectra of
/// which each term has a thirtieth of the flux of the one before, and a polarisation of a tenth. `like`: what all
/// sources are like. It cannot be evaluated.
UvGridPlan typical_uv_grid(const Sky<double>& like, const UvGridSize& size, double tolerance);

/// What grids take that are there together, if one does not take more.
inline constexpr std::size_t kGridBytes = std::size_t{1} << 29;

/// All rows. Bits do not depend on the number of threads. Throws Cancelled.
void solve_by_uv_grid(const Summed& of, UvGridPlan& plan, const Output& out, ThreadPool& threads,
                      Cancellation& cancellation, std::size_t grid_bytes = kGridBytes);

}  // namespace rimetree::psv::uv_grid
