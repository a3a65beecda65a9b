#include "nodes/psv/device/direct.h"

#include <algorithm>
#include <bit>

#include "nodes/psv/pipeline/chunks.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::device {

DeviceRow device_row(const Rows& rows, const JonesChains& jones, std::size_t r) {
  DeviceRow row{rows.u[r], rows.v[r], rows.w[r], 0, 0, 0, 0, 0, 0, 0, 0, 0};
  if (rows.du != nullptr) row.du = rows.du[r], row.dv = rows.dv[r], row.dw = rows.dw[r];
  if (rows.exposure_s != nullptr) row.exposure = rows.exposure_s[r] / kSpeedOfLight_m_s;
  if (jones.empty()) return row;
  const auto baseline = static_cast<std::size_t>(rows.baseline[r]);
  row.left = jones.left.of_baseline[baseline];
  row.right = jones.right.of_baseline[baseline];
  row.time = rows.time[r];
  return row;
}

template <class T>
DirectJob<T> direct_job(DeviceSky<T>& sky, const DirectRows& rows, std::size_t begin, std::size_t end) {
  const Summed& of = sky.summed();
  const PackedProblem& packed = sky.packed();
  DirectJob<T> job;
  constexpr std::int32_t kJonesPlanes = 8;  // parts of four correlations
  const SourceArrays<T>& arrays = sky.fill(job, begin, end, *rows.range, kJonesPlanes);
  if (arrays.brightness) job.brightness = arrays.brightness.template as<const Complex<T>>();
  job.row = rows.d_rows;
  job.out = rows.d_out;
  job.n_row = static_cast<std::int32_t>(rows.n_row);
  job.tile_bits = std::countr_zero(static_cast<unsigned>(packed.channels.tiles));
  job.regular = packed.channels.regular;
  job.smear_time = of.rows.is_smeared_in_time();
  job.smear_frequency = of.rows.is_smeared_in_frequency();
  for (const SourceBlock& block : of.sky.blocks)
    if (block.begin < end && begin < block.end) job.profile = block.profile;
  job.residual = packed.channels.residual;
  return job;
}

namespace {

/// So many unpolarised sources are worth a launch of their own, which reads and writes the visibilities once more: 128
/// bytes, as long as three or four planes less take for about a hundred sources.
constexpr std::size_t kLeastOnePlane = 128;

/// How many of the sources [begin, end), all of one profile, come first and have one plane only.
std::size_t count_of_one_plane(const Sky<double>& sky, std::size_t begin, std::size_t end) {
  std::size_t last = begin;
  for (const SourceBlock& block : sky.blocks)
    if (block.one_plane && block.begin < end && block.end > begin) last = std::min(block.end, end);
  return last - begin;
}

/// Among how many threads the sources of a tile are shared: where there are few rows, blocks of fewer rows fill the
/// device, with twice as many as it holds.
template <class T>
std::int32_t group_bits_for(DirectJob<T> job) {
  constexpr std::int64_t kWanted = 2 * std::int64_t{pipeline::kBusyBlocks}, kLeastStages = 8;
  const auto blocks = [&] {
    return (job.n_row + job.rows_per_block() - 1) / job.rows_per_block() * std::int64_t{job.n_run};
  };
  for (job.group_bits = 0; blocks() < kWanted; ++job.group_bits)
    if (job.rows_per_block() / 2 < DeviceShape::kLeastRows || job.n_source < 2 * kLeastStages * job.stage_sources())
      break;
  return job.group_bits;
}

/// Of how many sources at a time the seeds of antennas have room: 0 where rows make their own.
template <class T>
std::size_t sources_with_room(const DirectJob<T>& job, const DirectAntennas& antennas) {
  if (antennas.d_antennas == nullptr || job.kind() == DirectKind::kGeneral || job.n_source == 0) return 0;
  // Each launch reads and writes the visibilities once more.
  constexpr std::size_t kWorthALaunch = 32;
  const std::size_t count = static_cast<std::size_t>(job.n_source),
                    room =
                        antennas.bytes / (antennas.n_antenna * static_cast<std::size_t>(job.n_run) * sizeof(Seed<T>));
  return room < std::min(count, kWorthALaunch) ? 0 : room;
}

/// Queues the seeds of antennas, and has the job use them.
template <class T>
void launch_antennas(memory::Queue& queue, const DirectAntennas& antennas, DirectJob<T>& job) {
  AntennaJob<T> make;
  make.source = job.source, make.run = job.run, make.antenna = antennas.d_antennas;
  make.seed = static_cast<Seed<T>*>(antennas.d_seeds);
  make.n_source = job.n_source, make.n_run = job.n_run, make.n_antenna = static_cast<std::int32_t>(antennas.n_antenna);
  launch_threads(queue, make);
  job.antenna_seed = make.seed;
  job.n_antenna = make.n_antenna;
}

/// The sources of a job from number `first` on, `count` of them.
template <class T>
DirectJob<T> some_sources(DirectJob<T> job, std::size_t first, std::size_t count) {
  job.source += first;
  if (job.weight != nullptr)
    job.weight += first * static_cast<std::size_t>(job.n_weight_channel) * static_cast<std::size_t>(job.n_weight_plane);
  job.n_source = static_cast<std::int32_t>(count);
  return job;
}

}  // namespace

template <class T>
void launch_sum(DeviceSky<T>& sky, const DirectRows& rows, std::size_t chunk_sources, bool accumulate) {
  const Sky<double>& sources = sky.summed().sky;
  const auto launch_range = [&](std::size_t begin, std::size_t end) {
    const DirectJob<T> whole = direct_job(sky, rows, begin, end);
    memory::Queue& queue = rows.queue != nullptr ? *rows.queue : sky.queue();
    sky.bring_to(queue);
    const auto launch_one = [&](DirectJob<T> job, bool by_antennas) {
      job.accumulate = accumulate;
      job.group_bits = group_bits_for(job);
      if (by_antennas) launch_antennas(queue, rows.antennas, job);
      launch(queue, job);
      accumulate = true;
    };
    const auto launch_some = [&](std::size_t first, std::size_t count, bool one_plane) {
      DirectJob<T> job = some_sources(whole, first, count);
      if (one_plane) job.n_plane = 1;
      const std::size_t room = sources_with_room(job, rows.antennas);
      if (room == 0) return launch_one(job, false);
      for (std::size_t at = 0; at < count; at += room)
        launch_one(some_sources(job, at, std::min(room, count - at)), true);
    };
    const bool has_planes = whole.n_plane > 1 && whole.n_plane <= 4;
    const std::size_t count = end - begin, n_one_plane = has_planes ? count_of_one_plane(sources, begin, end) : 0;
    if (n_one_plane < std::min(count, kLeastOnePlane) || n_one_plane == 0) return launch_some(0, count, false);
    launch_some(0, n_one_plane, true);
    if (n_one_plane < count) launch_some(n_one_plane, count - n_one_plane, false);
  };
  for_each_chunk(sources, chunk_sources, launch_range);
  if (!accumulate) launch_range(0, 0);  // an empty sky has visibilities too: zeros
}

template DirectJob<float> direct_job(DeviceSky<float>&, const DirectRows&, std::size_t, std::size_t);
template DirectJob<double> direct_job(DeviceSky<double>&, const DirectRows&, std::size_t, std::size_t);
template void launch_sum(DeviceSky<float>&, const DirectRows&, std::size_t, bool);
template void launch_sum(DeviceSky<double>&, const DirectRows&, std::size_t, bool);

template <class T>
DirectMethod<T>::DirectMethod(const Summed& of, const AntennaPlan* antennas, ThreadPool& threads)
    : SkyMethod<T>(of, device_channels(of.channels, reach_of(of.sky, of.rows), of.rows.is_smeared_in_frequency()),
                   threads),
      antennas_(antennas) {
  // Kernels for anything make phasors channel by channel.
  if (!packed_.channels.regular || packed_.jones_vary()) antennas_ = nullptr;
  if (antennas_ != nullptr) number_.resize(antennas_->n_antenna);
}

template <class T>
DeviceCosts DirectMethod<T>::costs() const {
  DeviceCosts costs = packed_.template costs<T>(of_);
  costs.row = sizeof(DeviceRow);
  costs.rows_per_block = static_cast<std::size_t>(DeviceShape::kThreads / packed_.channels.tiles);
  if (antennas_ == nullptr) return costs;
  costs.row += 2 * sizeof(DeviceAntenna);  // at the most
  // Room for seeds of a hundred sources and more: an antenna has several rows.
  constexpr std::size_t kRow = 4096, kVisibility = 64;
  const std::size_t all = 2 * sizeof(Seed<T>) * packed_.channels.runs.size() * of_.sky.n_source;
  costs.row_scratch = std::min(kRow, all);
  if (all > kRow) costs.visibility_scratch = kVisibility;
  return costs;
}

/// Numbers the antennas of the slot's rows, which are together where they are of one layer, and puts the antennas
/// behind the rows. Returns how many bytes these take.
template <class T>
std::size_t DirectMethod<T>::fill_antennas(DeviceSlot& slot) {
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  auto* antennas = reinterpret_cast<DeviceAntenna*>(rows + slot.n_row);
  std::int32_t layer = -1, n = 0;
  for (std::size_t r = 0; r < slot.n_row; ++r) {
    const AntennaRow& of = antennas_->rows[row_number(slot.first_row + r)];
    if (of.layer != layer) std::fill(number_.begin(), number_.end(), -1);
    layer = of.layer;
    const auto number = [&](std::int32_t antenna) {
      std::int32_t& known = number_[static_cast<std::size_t>(antenna)];
      if (known >= 0) return known;
      const AntennaPosition& at =
          antennas_->layers[static_cast<std::size_t>(layer)].place[static_cast<std::size_t>(antenna)];
      antennas[n] = {at.x, at.y, at.z};
      return known = n++;
    };
    rows[r].p = number(of.p);
    rows[r].q = number(of.q);
  }
  slot.offset[0] = slot.n_row * sizeof(DeviceRow);
  slot.count[0] = static_cast<std::size_t>(n);
  return slot.count[0] * sizeof(DeviceAntenna);
}

template <class T>
std::size_t DirectMethod<T>::fill(DeviceSlot& slot) {
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  for (std::size_t r = 0; r < slot.n_row; ++r)
    rows[r] = device_row(of_.rows, packed_.jones, row_number(slot.first_row + r));
  return slot.n_row * sizeof(DeviceRow) + (by_antennas() ? fill_antennas(slot) : 0);
}

template <class T>
void DirectMethod<T>::compute(std::size_t device, DeviceSlot& slot) {
  DirectRows rows{slot.d_rows.template as<const DeviceRow>(), slot.n_row, slot.range,
                  slot.d_out.template as<Complex<double>>(), slot.queue};
  if (by_antennas()) {
    const auto* d_rows = slot.d_rows.template as<const unsigned char>();
    rows.antennas = {reinterpret_cast<const DeviceAntenna*>(d_rows + slot.offset[0]), slot.count[0],
                     slot.d_scratch.data(), slot.d_scratch.bytes()};
  }
  launch_sum(this->sky(device), rows, this->chunk_sources(), false);
}

template class DirectMethod<float>;
template class DirectMethod<double>;

}  // namespace rimetree::psv::device
