#include "nodes/psv/uv_grid/uv_reverse.h"

#include <algorithm>

#include "nodes/psv/plane_shares.h"
#include "nodes/psv/uv_grid/grids_reverse.h"
#include "nodes/psv/uv_grid/samples_reverse.h"

namespace rimetree::psv::uv_grid {
namespace {
/// The derivatives with respect to one series of all sources, [series][source as placed].
using Gained = std::vector<std::vector<Complex<double>>>;

/// Adds the adjoints of rows to grids that are there together, some rows after the others.
class Gridder {
 public:
  Gridder(const Summed& of, const UvGridPlan& plan, const GivenAdjoints& adjoints, ThreadPool& threads,
          Cancellation& cancellation, std::size_t sample_bytes)
      : of_(of),
        plan_(plan),
        adjoints_(adjoints),
        threads_(threads),
        cancellation_(cancellation),
        sample_bytes_(sample_bytes),
        w_points_(points_in_w(plan)),
        scratch_(static_cast<std::size_t>(threads.size())),
        n_strip_((plan.axis[0].n_mode + kStripModes - 1) / kStripModes) {}

  /// Grids [first, first + count) of the plan.
  void add_all(std::size_t first, std::size_t count, Complex<double>* grids) {
    batch_.first_series = plan_.grids[first].series;
    batch_.end_series = plan_.grids[first + count - 1].series + 1;
    const std::size_t each = 2 * sizeof(std::int32_t) + 3 * sizeof(double) + 2 * sizeof(std::uint32_t) +
                             (batch_.end_series - batch_.first_series) * sizeof(Complex<double>);
    for (std::size_t begin = 0; begin < of_.rows.n_row;) {
      std::size_t end = begin, n_sample = 0;
      offset_.clear();
      do {
        offset_.push_back(n_sample);
        n_sample += samples_of_row(plan_, of_.n_channel(), end++);
      } while (end < of_.rows.n_row &&
               (n_sample + samples_of_row(plan_, of_.n_channel(), end)) * each <= sample_bytes_);
      batch_.resize(n_sample);
      place_rows(begin, end);
      sort_into_strips();
      threads_.parallel_for(
          n_strip_, 1,
          [&](std::size_t from, std::size_t to, int) {
            for (std::size_t strip = from; strip < to; ++strip)
              spread_samples({plan_, w_points_, batch_, first, count, grids, strip * kStripModes,
                              std::min((strip + 1) * kStripModes, plan_.axis[0].n_mode),
                              samples_.data() + begin_[strip], begin_[strip + 1] - begin_[strip]});
          },
          &cancellation_);
      begin = end;
    }
  }

 private:
  struct Scratch {
    std::vector<Complex<double>> adjoint;
    std::vector<double> sums;
  };

  void place_rows(std::size_t begin, std::size_t end) {
    const std::size_t n_channel = of_.n_channel(), n_plane = plan_.sky.planes.size();
    threads_.parallel_for(
        end - begin, 16,
        [&](std::size_t from, std::size_t to, int worker) {
          auto& [adjoint, sums] = scratch_[static_cast<std::size_t>(worker)];
          adjoint.resize(n_plane * n_channel);
          for (std::size_t i = from; i < to; ++i) {
            for (std::size_t f = 0; f < n_channel; ++f) {
              Complex<double> c[4];
              for (std::ptrdiff_t e = 0; e < 4; ++e)
                c[e] = conj(adjoints_.row[begin + i][e * adjoints_.plane_stride + static_cast<std::ptrdiff_t>(f)]);
              for (std::size_t p = 0; p < n_plane; ++p)
                adjoint[p * n_channel + f] = plane_adjoint(plan_.sky.planes[p], c, 1);
            }
            place_adjoints({plan_, of_, batch_, begin + i, offset_[i], adjoint.data(), sums});
          }
        },
        &cancellation_);
  }

  /// The samples that reach each strip, in their order.
  void sort_into_strips() {
    const auto width = static_cast<std::size_t>(plan_.widest().width);
    const auto for_strips = [&](std::size_t s, const auto& f) {
      const auto first = static_cast<std::size_t>(batch_.first[0][s]);
      for (std::size_t strip = first / kStripModes; strip <= (first + width - 1) / kStripModes; ++strip) f(strip);
    };
    begin_.assign(n_strip_ + 1, 0);
    for (std::size_t s = 0; s < batch_.size(); ++s) for_strips(s, [&](std::size_t strip) { ++begin_[strip + 1]; });
    for (std::size_t strip = 0; strip < n_strip_; ++strip) begin_[strip + 1] += begin_[strip];
    samples_.resize(begin_[n_strip_]);
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t s = 0; s < batch_.size(); ++s)
      for_strips(s, [&](std::size_t strip) { samples_[next[strip]++] = static_cast<std::uint32_t>(s); });
  }

  const Summed& of_;
  const UvGridPlan& plan_;
  const GivenAdjoints& adjoints_;
  ThreadPool& threads_;
  Cancellation& cancellation_;
  std::size_t sample_bytes_;
  std::vector<Points> w_points_;
  std::vector<Scratch> scratch_;     // [thread]
  std::size_t n_strip_;              // of modes of U
  std::vector<std::size_t> offset_;  // [row]: its first sample
  SampleBatch batch_;
  std::vector<std::size_t> begin_;      // [strip]: in `samples_`
  std::vector<std::uint32_t> samples_;  // strip by strip
};

/// Where weights of a part of the band are among those of all, [source][weight channel][plane].
struct WeightsOfBand {
  const Sky<double>& sky;
  std::size_t first_channel, n_channel;
  double* all;
  double* of(std::size_t source, std::size_t plane) const {
    return all + (source * sky.n_weight_channel + first_channel) * sky.planes.size() + plane;
  }
};

/// Of points, in the sky's order.
void add_weights(const UvGridPlan& plan, const PlacedSources& sources, const Gained& gained, const WeightsOfBand& to) {
  const std::size_t n_plane = to.sky.planes.size(), n_term = plan.sky.n_term;
  constexpr auto kLeftOut = static_cast<std::size_t>(-1);
  std::vector<std::size_t> series(plan.sky.planes.size() * n_term, kLeftOut);
  for (std::size_t i = 0; i < plan.series.size(); ++i) series[plan.series[i].plane * n_term + plan.series[i].term] = i;
  std::vector<double> terms(n_term);
  for (std::size_t p = 0; p < n_plane; ++p) {
    const auto [plane, imaginary] = plane_in(plan.sky, to.sky.planes[p]);
    for (std::size_t i = 0; i < sources.order.size(); ++i) {
      for (std::size_t j = 0; j < n_term; ++j) {
        const std::size_t number = series[plane * n_term + j];
        terms[j] = number == kLeftOut ? 0 : imaginary ? -gained[number][i].im : gained[number][i].re;
      }
      pull_back_series(n_term, to.n_channel, terms.data(), to.of(sources.order[i], p), n_plane);
    }
  }
}

/// By a plan without parts.
void pull_back_part(const Summed& of, UvGridPlan& plan, const GivenAdjoints& adjoints, const WeightsOfBand& weights,
                    ThreadPool& threads, Cancellation& cancellation, const ReverseMemory& memory) {
  finish_plan(plan, of.channels);
  const PlacedSources sources = place_sources(plan, threads);
  const std::size_t n_grid = plan.grids.size(), size = plan.grid_size();
  const std::size_t together = std::clamp<std::size_t>(memory.grids / (sizeof(Complex<double>) * size), 1, n_grid);
  std::vector<Complex<double>> grids(together * size);
  Gridder gridder(of, plan, adjoints, threads, cancellation, memory.samples);
  GridReader reader(plan, sources, threads, cancellation);
  Gained gained(plan.series.size(), std::vector<Complex<double>>(sources.order.size()));
  for (std::size_t first = 0; first < n_grid; first += together) {
    const std::size_t count = std::min(together, n_grid - first);
    std::fill_n(grids.data(), count * size, Complex<double>());
    gridder.add_all(first, count, grids.data());
    for (std::size_t g = 0; g < count; ++g) {
      const GridNumber number = plan.grids[first + g];
      reader.read(number, grids.data() + g * size, gained[number.series].data());
    }
  }
  add_weights(plan, sources, gained, weights);
}

}  // namespace

void pull_back_points(const Summed& of, UvGridPlan& plan, const GivenAdjoints& adjoints, double* weights,
                      ThreadPool& threads, Cancellation& cancellation, const ReverseMemory& memory) {
  if (plan.parts.empty())
    return pull_back_part(of, plan, adjoints, {of.sky, 0, of.sky.n_weight_channel, weights}, threads, cancellation,
                          memory);
  for (PartOfBand& part : plan.parts) {
    std::vector<const Complex<double>*> row;
    for (std::size_t r = 0; r < of.rows.n_row; ++r) row.push_back(adjoints.row[r] + part.begin);
    const Summed of_part{of.sky, part.channels, of.rows, of.jones};
    pull_back_part(of_part, part.plan, {row.data(), adjoints.plane_stride},
                   {of.sky, part.begin, of_part.n_channel(), weights}, threads, cancellation, memory);
  }
}

}  // namespace rimetree::psv::uv_grid
