#include "nodes/psv/uv_grid/grids.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nodes/psv/scratch.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {
namespace {

/// Where a source is on one axis.
struct Place {
  std::int32_t cell;
  double place;
};
Place place_on(const GridAxis& axis, const GriddingKernel& widest, long double from_middle) {
  const long double start = from_middle * axis.cells_per_unit - 0.5L * widest.width;
  const long double first = std::ceil(start);
  return {static_cast<std::int32_t>(static_cast<std::ptrdiff_t>(first) - axis.first_cell),
          static_cast<double>(2 * (first - start) - 1)};
}
/// Cells from the middle to such a place.
double cells_to(const GridAxis& axis, const GriddingKernel& widest, Place at) {
  return double(at.cell + axis.first_cell) + 0.5 * (widest.width - 1 - at.place);
}

}  // namespace

PlacedSources place_sources(const UvGridPlan& plan, ThreadPool& threads) {
  const SeriesSky& sky = plan.sky;
  const std::size_t n_source = sky.n_source;
  PlacedSources given, to;
  for (PlacedSources* p : {&given, &to}) {
    for (int i = 0; i < 2; ++i) p->cell[i].resize(n_source), p->place[i].resize(n_source);
    p->amplitude.resize(n_source), p->z.resize(n_source);
  }
  const auto place = [&](std::size_t s) {
    const Point p = plan.frame.of_direction(sky.l[s], sky.m[s], sky.n_high[s], sky.n_low[s]);
    long double turns = 0, from_middle[3];
    for (int i = 0; i < 3; ++i) {
      from_middle[i] = p.at[i] - plan.sources.middle(i);
      turns += from_middle[i] * plan.samples.middle(i);
    }
    for (int i = 0; i < 2; ++i) {
      const Place on = place_on(plan.axis[i], plan.widest(), from_middle[i]);
      given.cell[i][s] = on.cell, given.place[i][s] = on.place;
    }
    const double angle = 2 * kPi * static_cast<double>(turns - std::rint(turns));
    given.amplitude[s] = {std::cos(angle), std::sin(angle)};
    given.z[s] = static_cast<double>(from_middle[2]);
  };
  threads.parallel_for(n_source, 4096, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t s = begin; s < end; ++s) place(s);
  });
  to.order.resize(n_source);
  std::iota(to.order.begin(), to.order.end(), 0u);
  std::stable_sort(to.order.begin(), to.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return given.cell[1][a] < given.cell[1][b]; });
  for (std::size_t i = 0; i < n_source; ++i) {
    const std::uint32_t s = to.order[i];
    for (int k = 0; k < 2; ++k) to.cell[k][i] = given.cell[k][s], to.place[k][i] = given.place[k][s];
    to.amplitude[i] = given.amplitude[s], to.z[i] = given.z[s];
  }
  const std::vector<std::int32_t>& rows = to.cell[1];
  for (std::size_t row = 0; row < plan.axis[1].n_used; row += kStripRows) {
    const auto at = [&](std::ptrdiff_t first) {
      return static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), first) - rows.begin());
    };
    to.begin.push_back(at(static_cast<std::ptrdiff_t>(row) - plan.widest().width + 1));
    to.end.push_back(at(static_cast<std::ptrdiff_t>(row + kStripRows)));
  }
  return to;
}

std::vector<Complex<double>> corrected_amplitudes(const UvGridPlan& plan, const PlacedSources& sources,
                                                  const GridSeries& series, ThreadPool& threads) {
  const GriddingKernel &kernel = plan.kernel_of(series), &widest = plan.widest();
  std::vector<Complex<double>> amplitude(sources.amplitude);
  threads.parallel_for(amplitude.size(), 4096, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t s = begin; s < end; ++s)
      for (int i = 0; i < 2; ++i) {
        const GridAxis& axis = plan.axis[i];
        const double cells = cells_to(axis, widest, {sources.cell[i][s], sources.place[i][s]});
        amplitude[s] = kernel.inverse_transform(cells / double(axis.n_cell)) * amplitude[s];
      }
  });
  return amplitude;
}

void finish_plan(UvGridPlan& plan, const Channels& channels) {
  for (GridAxis& axis : plan.axis) axis.transform = FourierTransform::of_length(axis.n_cell);
  for (GridKernel& one : plan.kernels)
    for (int i = 0; i < 2; ++i) {
      const GridAxis& axis = plan.axis[i];
      one.correction[i].resize(axis.n_mode);
      for (std::size_t k = 0; k < axis.n_mode; ++k) {
        const double kappa = double(axis.first_mode + static_cast<std::ptrdiff_t>(k)) / double(axis.n_cell);
        one.correction[i][k] = one.kernel->inverse_transform(kappa);
      }
    }
  finish_means(plan.means, channels);
}

std::vector<Points> points_in_w(const UvGridPlan& plan) {
  int most = 0;
  for (const GridSeries& series : plan.series) most = std::max(most, series.n_w);
  std::vector<Points> points;
  for (int n = 0; n <= most; ++n) points.emplace_back(n);
  return points;
}

struct GridMaker::Lines {
  ScratchMemory memory;
  Complex<double>*cells = nullptr, *modes = nullptr, *in = nullptr, *out = nullptr;
};

GridMaker::GridMaker(const UvGridPlan& plan, const PlacedSources& sources, ThreadPool& threads,
                     Cancellation& cancellation)
    : plan_(plan),
      sources_(sources),
      threads_(threads),
      cancellation_(cancellation),
      stride_((plan.axis[0].n_used + kCellPad + 3) / 4 * 4),
      n_block_((plan.axis[0].n_mode + kColumns - 1) / kColumns),
      series_(plan.series.size()) {
  const GridAxis& x = plan.axis[0];
  const GridAxis& y = plan.axis[1];
  rows_.resize(n_block_ * y.n_used * kColumns);
  lines_.resize(static_cast<std::size_t>(threads.size()));
  const std::size_t longest = std::max(x.n_cell, kColumns * y.n_cell);
  for (Lines& lines : lines_) {
    lines.memory.allocate([&](ScratchMemory& cut) {
      cut(lines.cells, kStripRows * stride_);
      cut(lines.modes, kStripRows * n_block_ * kColumns);
      cut(lines.in, longest);
      cut(lines.out, std::max(x.n_cell, y.n_cell));
    });
    std::fill_n(lines.modes, kStripRows * n_block_ * kColumns, Complex<double>());
  }
}

/// What sources are on the grids of a series.
void GridMaker::weigh(const GridSeries& series) {
  const SeriesSky& sky = plan_.sky;
  const std::size_t n_series = sky.planes.size() * sky.n_term, own = series.plane * sky.n_term + series.term;
  weight_ = corrected_amplitudes(plan_, sources_, series, threads_);
  for (std::size_t s = 0; s < weight_.size(); ++s)
    weight_[s] = weight_[s] * sky.weight[sources_.order[s] * n_series + own];
}

/// Sources to a strip of cells, and its rows to modes of U. What a block of columns takes of the strip lies together.
void GridMaker::transform_rows(std::size_t strip, GridNumber number, Lines& lines) {
  const GridAxis& x = plan_.axis[0];
  const GridSeries& series = plan_.series[number.series];
  const GridKernel& kernel = plan_.kernels[series.kernel];
  spread_strip({*kernel.kernel, cells_skipped(plan_, *kernel.kernel), sources_, weight_.data(), w_of(plan_, number),
                strip, stride_, lines.cells});
  std::fill_n(lines.in, x.n_cell, Complex<double>());
  const std::size_t n_used = plan_.axis[1].n_used, first = strip * kStripRows,
                    count = std::min(kStripRows, n_used - first), stride = n_block_ * kColumns;
  for (std::size_t row = 0; row < count; ++row) {
    const Complex<double>* cells = lines.cells + row * stride_;
    for (std::size_t i = 0; i < x.n_used; ++i)
      lines.in[wrapped(x.first_cell + static_cast<std::ptrdiff_t>(i), x.n_cell)] = cells[i];
    x.transform->run(lines.in, lines.out);
    Complex<double>* to = lines.modes + row * stride;
    for (std::size_t k = 0; k + kCellPad < x.n_mode; ++k)
      to[k] = kernel.correction[0][k] * lines.out[wrapped(x.first_mode + static_cast<std::ptrdiff_t>(k), x.n_cell)];
  }
  for (std::size_t block = 0; block < n_block_; ++block)
    for (std::size_t row = 0; row < count; ++row)
      std::copy_n(lines.modes + row * stride + block * kColumns, kColumns,
                  rows_.data() + (block * n_used + first + row) * kColumns);
}

/// A block of columns to modes of V.
void GridMaker::transform_columns(std::size_t block, const GridKernel& kernel, Lines& lines,
                                  Complex<double>* grid) const {
  const GridAxis& y = plan_.axis[1];
  const std::size_t first = block * kColumns, count = std::min(kColumns, plan_.axis[0].n_mode - first);
  std::fill_n(lines.in, count * y.n_cell, Complex<double>());
  const Complex<double>* from = rows_.data() + first * y.n_used;
  for (std::size_t row = 0; row < y.n_used; ++row, from += kColumns) {
    const std::size_t to = wrapped(y.first_cell + static_cast<std::ptrdiff_t>(row), y.n_cell);
    for (std::size_t c = 0; c < count; ++c) lines.in[c * y.n_cell + to] = from[c];
  }
  for (std::size_t c = 0; c < count; ++c) {
    y.transform->run(lines.in + c * y.n_cell, lines.out);
    Complex<double>* to = grid + (first + c) * y.n_mode;
    for (std::size_t k = 0; k + kCellPad < y.n_mode; ++k)
      to[k] = kernel.correction[1][k] * lines.out[wrapped(y.first_mode + static_cast<std::ptrdiff_t>(k), y.n_cell)];
    std::fill_n(to + y.n_mode - kCellPad, kCellPad, Complex<double>());
  }
}

GridMaker::~GridMaker() = default;

void GridMaker::make(GridNumber number, Complex<double>* grid) {
  const GridSeries& series = plan_.series[number.series];
  if (series_ != number.series) weigh(series);
  series_ = number.series;
  threads_.parallel_for(
      sources_.begin.size(), 1,
      [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t strip = begin; strip < end; ++strip)
          transform_rows(strip, number, lines_[static_cast<std::size_t>(worker)]);
      },
      &cancellation_);
  threads_.parallel_for(
      n_block_, 1,
      [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t block = begin; block < end; ++block)
          transform_columns(block, plan_.kernels[series.kernel], lines_[static_cast<std::size_t>(worker)], grid);
      },
      &cancellation_);
}

}  // namespace rimetree::psv::uv_grid
