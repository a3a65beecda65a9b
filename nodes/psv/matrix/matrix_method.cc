#include "nodes/psv/matrix/matrix_method.h"

#include <algorithm>
#include <cstring>

#include "nodes/psv/exposure_rule.h"
#include "nodes/psv/matrix/matrix_kernel.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv::matrix {
namespace {

/// Entries of 2x2 Jones products count as one plane.
constexpr int kJonesPlanes = 1;

/// Runs of the kernel: those of the channels, cut to what a block has.
std::vector<DeviceRun> cut_runs(const DeviceChannels& channels, int most) {
  std::vector<DeviceRun> runs;
  for (const DeviceRun& run : channels.runs)
    for (std::int32_t first = 0; first < run.count; first += most) {
      DeviceRun& to = runs.emplace_back(run);
      to.first = run.first + first;
      to.count = std::min(most, run.count - first);
      // From the middle of the run's tiles to the middle of the block's channels, which may lie beyond the last one.
      const double steps = 2.0 * first + most - run.n_tile * DeviceShape::kChannels;  // half ones
      const DoubleDouble<double> come = exact::product(steps, run.half_step_high);
      DoubleDouble<double> middle = exact::sum(run.middle_high, come.hi);
      middle.lo += come.lo + (steps * run.half_step_low + run.middle_low);
      to.middle_high = middle.hi, to.middle_low = middle.lo;
    }
  return runs;
}

bool same_tile(const MatrixEntry& a, const MatrixEntry& b, std::int32_t side) {
  return a.layer == b.layer && a.left / side == b.left / side && a.right / side == b.right / side;
}

/// Copies to a place behind what is there already; returns where.
template <class U>
std::size_t append(unsigned char* to, std::size_t& bytes, const std::vector<U>& values) {
  static_assert(sizeof(U) % 8 == 0, "what follows stays aligned");
  const std::size_t at = bytes;
  if (!values.empty()) std::memcpy(to + at, values.data(), values.size() * sizeof(U));
  bytes += values.size() * sizeof(U);
  return at;
}

}  // namespace

template <class T>
MatrixMethod<T>::MatrixMethod(const Summed& of, MatrixPlan plan, const MatrixVariant& variant, ThreadPool& threads)
    : SkyMethod<T>(of, {}, threads), plan_(std::move(plan)), variant_(variant) {
  packed_.brightness_in_products = true;
  sort_into_tiles(plan_, antennas_per_tile(plan_, variant_), threads);
  DeviceChannels channels = device_channels(of.channels, plan_.antennas.reach_m, of.rows.is_smeared_in_frequency());
  for (std::size_t i = 0; i < plan_.entries.size(); ++i)
    if (i == 0 || !same_tile(plan_.entries[i - 1], plan_.entries[i], antennas_per_tile(plan_, variant_)))
      tile_begin_.push_back(i);
  // The direct kernel turns channels by what a nearly regular grid is off; here each is made from its paths.
  regular_ = channels.regular && !channels.residual;
  const int n_plane = packed_.jones.empty() ? static_cast<int>(of.sky.planes.size()) : kJonesPlanes;
  channels.runs = cut_runs(channels, channels_per_block<T>(variant_, n_plane));
  packed_.channels = std::move(channels);
}

template <class T>
DeviceCosts MatrixMethod<T>::costs() const {
  DeviceCosts costs = packed_.template costs<T>(of_);
  // At the most: a tile and two antennas of its own for each row.
  costs.row = sizeof(MatrixRow) + sizeof(MatrixTile) + 2 * sizeof(MatrixAntenna);
  // Blocks are as many as tiles and runs.
  const std::size_t blocks = std::max<std::size_t>(tile_begin_.size() * packed_.channels.runs.size(), 1);
  costs.busy_rows = std::max(costs.busy_rows, costs.n_row * pipeline::kBusyBlocks / blocks);
  return costs;
}

/// Between tiles, where there are several: one that is cut is computed twice.
template <class T>
std::size_t MatrixMethod<T>::chunk_end(std::size_t begin, std::size_t end) const {
  if (end == plan_.entries.size()) return end;
  const auto after = std::upper_bound(tile_begin_.begin(), tile_begin_.end(), end);
  return after == tile_begin_.begin() || *(after - 1) <= begin ? end : *(after - 1);
}

/// Tiles of the slot's rows, each with the antennas that it needs: a tile that two chunks share is computed by both.
template <class T>
std::size_t MatrixMethod<T>::fill(DeviceSlot& slot) {
  tiles_.clear(), antennas_.clear(), rows_.clear();
  const std::int32_t side = antennas_per_tile(plan_, variant_);
  const auto entries = std::span(plan_.entries).subspan(slot.first_row, slot.n_row);
  for (std::size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    while (end < entries.size() && same_tile(entries[begin], entries[end], side)) ++end;
    add_tile(entries.subspan(begin, end - begin), begin);
  }
  auto* to = static_cast<unsigned char*>(slot.rows.get());
  std::size_t bytes = 0;
  append(to, bytes, tiles_);
  slot.offset[0] = append(to, bytes, antennas_);
  slot.offset[1] = append(to, bytes, rows_);
  slot.count[0] = tiles_.size(), slot.count[1] = antennas_.size();
  return bytes;
}

template <class T>
void MatrixMethod<T>::add_tile(std::span<const MatrixEntry> entries, std::size_t first_row) {
  const MatrixEntry& first = entries.front();
  const std::int32_t side = antennas_per_tile(plan_, variant_);
  const AntennaLayer& layer = plan_.antennas.layers[static_cast<std::size_t>(first.layer)];
  MatrixTile tile{};
  tile.first_row = static_cast<std::int32_t>(first_row);
  tile.n_row = static_cast<std::int32_t>(entries.size());
  tile.time = layer.time;
  tile.diagonal = !plan_.with_jones && first.left / side == first.right / side;
  // Numbers within the tile: where each antenna is among those that are there.
  std::vector<std::int16_t> place[2];
  for (auto& one : place) one.assign(static_cast<std::size_t>(side), -1);
  for (const MatrixEntry& e : entries) {
    place[kLeftSide][static_cast<std::size_t>(e.left % side)] = 0;
    place[tile.diagonal ? kLeftSide : kRightSide][static_cast<std::size_t>(e.right % side)] = 0;
  }
  const auto add_antennas = [&](MatrixSide which, const std::vector<AntennaEnd>& ends, std::int32_t first_end) {
    std::int16_t n = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(side); ++i) {
      if (place[which][i] < 0) continue;
      place[which][i] = n++;
      const AntennaEnd& end = ends[static_cast<std::size_t>(first_end) + i];
      const AntennaPosition& a = layer.place[static_cast<std::size_t>(end.antenna)];
      const double half = 0.5 * layer.exposure_s;
      antennas_.push_back({a.x, a.y, a.z, half * a.dx, half * a.dy, half * a.dz, end.chain, 0});
    }
    return n;
  };
  tile.first_left = static_cast<std::int32_t>(antennas_.size());
  tile.n_left = add_antennas(kLeftSide, plan_.left, first.left / side * side);
  tile.first_right = tile.diagonal ? tile.first_left : static_cast<std::int32_t>(antennas_.size());
  tile.n_right = tile.diagonal ? tile.n_left : add_antennas(kRightSide, plan_.right, first.right / side * side);
  if (tile.diagonal) place[kRightSide] = place[kLeftSide];
  tiles_.push_back(tile);
  for (const MatrixEntry& e : entries)
    rows_.push_back({place[kLeftSide][static_cast<std::size_t>(e.left % side)],
                     place[kRightSide][static_cast<std::size_t>(e.right % side)],
                     static_cast<std::int16_t>(e.conjugate), 0});
}

template <class T>
MatrixJob<T> MatrixMethod<T>::job_of(const DeviceSlot& slot) const {
  const auto* rows = slot.d_rows.template as<const unsigned char>();
  MatrixJob<T> job;
  job.tile = reinterpret_cast<const MatrixTile*>(rows);
  job.antenna = reinterpret_cast<const MatrixAntenna*>(rows + slot.offset[0]);
  job.row = reinterpret_cast<const MatrixRow*>(rows + slot.offset[1]);
  job.out = slot.d_out.template as<Complex<double>>();
  job.n_tile = static_cast<std::int32_t>(slot.count[0]);
  job.n_antenna = static_cast<std::int32_t>(slot.count[1]);
  job.n_row = static_cast<std::int32_t>(slot.n_row);
  job.variant = variant_;
  job.regular = regular_;
  job.n_time_node = plan_.n_time_node, job.n_frequency_node = plan_.n_frequency_node;
  const ExposureRule &time = exposure_rule(plan_.n_time_node), &frequency = exposure_rule(plan_.n_frequency_node);
  for (int i = 0; i < kMostSmearingNodes; ++i) {
    if (i < plan_.n_time_node) job.time_node[i] = time.node[i], job.time_weight[i] = time.weight[i];
    if (i < plan_.n_frequency_node)
      job.frequency_node[i] = frequency.node[i], job.frequency_weight[i] = frequency.weight[i];
  }
  return job;
}

template <class T>
void MatrixMethod<T>::compute(std::size_t device, DeviceSlot& slot) {
  MatrixJob<T> job = job_of(slot);
  std::size_t begin = 0;
  do {  // an empty sky has visibilities too: zeros
    const std::size_t end = std::min(begin + this->chunk_sources(), of_.sky.n_source);
    this->sky(device).fill(job, begin, end, *slot.range, kJonesPlanes);
    this->sky(device).bring_to(*slot.queue);
    launch(*slot.queue, job);
    job.accumulate = true;
    begin = end;
  } while (begin < of_.sky.n_source);
}

template class MatrixMethod<float>;
template class MatrixMethod<double>;

}  // namespace rimetree::psv::matrix
