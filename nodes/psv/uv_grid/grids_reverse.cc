#include "nodes/psv/uv_grid/grids_reverse.h"

#include <algorithm>

#include "nodes/psv/scratch.h"
#include "nodes/psv/uv_grid/samples_reverse.h"

namespace rimetree::psv::uv_grid {

struct GridReader::Lines {
  ScratchMemory memory;
  Complex<double>*in = nullptr, *out = nullptr;
};

GridReader::GridReader(const UvGridPlan& plan, const PlacedSources& sources, ThreadPool& threads,
                       Cancellation& cancellation)
    : plan_(plan),
      sources_(sources),
      threads_(threads),
      cancellation_(cancellation),
      stride_((plan.axis[0].n_used + kCellPad + 3) / 4 * 4),
      n_block_((plan.axis[0].n_mode + kColumns - 1) / kColumns),
      series_(plan.series.size()) {
  const GridAxis& y = plan.axis[1];
  columns_.resize(n_block_ * y.n_used * kColumns);
  cells_.resize(y.n_used * stride_);
  lines_.resize(static_cast<std::size_t>(threads.size()));
  const std::size_t longest = std::max(plan.axis[0].n_cell, y.n_cell);
  for (Lines& lines : lines_)
    lines.memory.allocate([&](ScratchMemory& cut) {
      cut(lines.in, longest);
      cut(lines.out, longest);
    });
}

/// A block of columns from modes of V to rows of cells.
void GridReader::transform_columns(std::size_t block, const GridKernel& kernel, const Complex<double>* grid,
                                   Lines& lines) {
  const GridAxis& y = plan_.axis[1];
  const std::size_t first = block * kColumns, count = std::min(kColumns, plan_.axis[0].n_mode - first);
  std::fill_n(lines.in, y.n_cell, Complex<double>());
  for (std::size_t c = 0; c < count; ++c) {
    const Complex<double>* from = grid + (first + c) * y.n_mode;
    for (std::size_t k = 0; k + kCellPad < y.n_mode; ++k)
      lines.in[wrapped(y.first_mode + static_cast<std::ptrdiff_t>(k), y.n_cell)] = kernel.correction[1][k] * from[k];
    y.transform->run(lines.in, lines.out);
    Complex<double>* to = columns_.data() + first * y.n_used + c;
    for (std::size_t row = 0; row < y.n_used; ++row, to += kColumns)
      *to = lines.out[wrapped(y.first_cell + static_cast<std::ptrdiff_t>(row), y.n_cell)];
  }
}

/// A strip of rows from modes of U to cells.
void GridReader::transform_rows(std::size_t strip, const GridKernel& kernel, Lines& lines) {
  const GridAxis& x = plan_.axis[0];
  const std::size_t n_used = plan_.axis[1].n_used, first = strip * kStripRows,
                    count = std::min(kStripRows, n_used - first);
  std::fill_n(lines.in, x.n_cell, Complex<double>());
  for (std::size_t row = first; row < first + count; ++row) {
    const Complex<double>* from = columns_.data() + row * kColumns;
    for (std::size_t k = 0; k + kCellPad < x.n_mode; ++k)
      lines.in[wrapped(x.first_mode + static_cast<std::ptrdiff_t>(k), x.n_cell)] =
          kernel.correction[0][k] * from[k / kColumns * n_used * kColumns + k % kColumns];
    x.transform->run(lines.in, lines.out);
    Complex<double>* to = cells_.data() + row * stride_;
    for (std::size_t i = 0; i < x.n_used; ++i)
      to[i] = lines.out[wrapped(x.first_cell + static_cast<std::ptrdiff_t>(i), x.n_cell)];
  }
}

GridReader::~GridReader() = default;

void GridReader::read(GridNumber number, const Complex<double>* grid, Complex<double>* gained) {
  const GridSeries& series = plan_.series[number.series];
  const GridKernel& kernel = plan_.kernels[series.kernel];
  if (series_ != number.series) amplitude_ = corrected_amplitudes(plan_, sources_, series, threads_);
  series_ = number.series;
  threads_.parallel_for(
      n_block_, 1,
      [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t block = begin; block < end; ++block)
          transform_columns(block, kernel, grid, lines_[static_cast<std::size_t>(worker)]);
      },
      &cancellation_);
  threads_.parallel_for((plan_.axis[1].n_used + kStripRows - 1) / kStripRows, 1,
                        [&](std::size_t begin, std::size_t end, int worker) {
                          for (std::size_t strip = begin; strip < end; ++strip)
                            transform_rows(strip, kernel, lines_[static_cast<std::size_t>(worker)]);
                        },
                        &cancellation_);
  threads_.parallel_for(
      sources_.order.size(), 16 * fourier::kSourcePad,
      [&](std::size_t begin, std::size_t end, int) {
        read_cells({plan_, sources_, number, amplitude_.data(), cells_.data(), stride_, begin, end, gained});
      },
      &cancellation_);
}

}  // namespace rimetree::psv::uv_grid
