#include "nodes/psv/device/adjoint_sums.h"

#include <bit>

#include "nodes/psv/device/adjoint_launch.h"

namespace rimetree::psv {
namespace {

using Handle = memory::ResidentArrays::Handle;

/// Blocks that keep any device busy.
constexpr std::int64_t kBusyBlocks = 1024;

/// How the rows of a launch are cut into portions: as many as keep a device busy, of several stages each, whose sums
/// take no more than the visibilities do.
void cut_into_portions(DeviceAdjointJob& job) {
  const DeviceJob<double>& sum = job.sum;
  job.sources =
      static_cast<std::int32_t>(std::min<unsigned>(std::bit_ceil(static_cast<unsigned>(sum.n_source)),
                                                   unsigned{DeviceShape::kThreads} / static_cast<unsigned>(sum.tiles)));
  const std::int64_t n_block = std::int64_t{(sum.n_source + job.sources - 1) / job.sources} * sum.n_run;
  std::int64_t bytes = std::int64_t{8} * sum.n_run * sum.n_source * job.n_sum;
  if (job.spectra() && job.weights) bytes += 8 * job.lanes() * job.channel_values();
  const std::int64_t room = std::int64_t{64} * sum.n_row * sum.n_out_channel / std::max<std::int64_t>(bytes, 1);
  const std::int64_t rows = job.rows_per_stage(), stages = (sum.n_row + rows - 1) / rows;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(std::min({(kBusyBlocks + n_block - 1) / n_block, room, (stages + 1) / 2}), 1, 65535);
  job.rows_per_portion = static_cast<std::int32_t>((stages + wanted - 1) / wanted * rows);
  job.n_portion = (sum.n_row + job.rows_per_portion - 1) / job.rows_per_portion;
}

/// Where a plane of the device's weights is among those of the sky; see device_weights().
std::size_t plane_of_sky(const Sky<double>& sky, std::size_t p) {
  if (sky.planes.size() != 8) return p;
  const auto plane = static_cast<Plane>(static_cast<std::size_t>(Plane::kXxRe) + p);
  return static_cast<std::size_t>(std::find(sky.planes.begin(), sky.planes.end(), plane) - sky.planes.begin());
}

std::vector<double> download(memory::ResidentArrays& arrays, const Handle& handle) {
  std::vector<double> values(handle ? handle.bytes() / sizeof(double) : 0);
  if (handle) arrays.download(handle, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace

bool has_device_adjoint(const PackedProblem& packed) { return packed.jones.empty() || packed.brightness_apart(); }

void add_adjoint_costs(const DeviceProblem& p, const PackedProblem& packed, DeviceCosts& costs) {
  const std::size_t n_plane = p.sky.planes.size(), n_run = packed.channels.runs.size();
  const bool spectra = p.sky.n_weight_channel > 1;
  // Sums and those of at least one portion. Blocks have as many lanes as there is room for.
  costs.source += sizeof(double) * (1 + n_run) * ((spectra ? 0 : n_plane) + 6);
  if (spectra) costs.source_channel += sizeof(double) * n_plane * (1 + std::size_t{DeviceShape::kThreads});
  costs.visibility_beside += 64;
}

AdjointSums::Totals& AdjointSums::totals_of(const DeviceAdjointJob& job, std::size_t begin) {
  // Sums that do not vary along channels are the same for all ranges of them.
  const bool spectra = job.spectra();
  Totals& totals = totals_[{begin, spectra ? job.sum.first_channel : 0}];
  if (totals.end > 0) return totals;
  totals.begin = begin, totals.end = begin + static_cast<std::size_t>(job.sum.n_source);
  totals.n_sum = job.n_sum;
  totals.first_channel = job.sum.first_channel, totals.n_channel = job.sum.n_out_channel;
  totals.weights = job.weight_sums() > 0, totals.shapes = job.shapes;
  memory::ResidentArrays& arrays = context_.arrays();
  const auto n = static_cast<std::size_t>(job.sum.n_source);
  if (job.n_sum > 0) totals.sums = arrays.scratch(sizeof(double) * n * static_cast<std::size_t>(job.n_sum));
  if (spectra && job.weights)
    totals.channel_sums = arrays.scratch(sizeof(double) * static_cast<std::size_t>(job.channel_values()));
  return totals;
}

void AdjointSums::add_up(const Handle& partial, std::int64_t n_group, std::int64_t n_value, const Handle& total,
                         bool accumulate) {
  DeviceAddJob job;
  job.partial = partial.as<const double>();
  job.total = total.as<double>();
  job.n_group = static_cast<std::int32_t>(n_group);
  job.n_value = n_value;
  job.accumulate = accumulate;
  launch(context_.compute(), job);
}

void AdjointSums::add(const DirectRows& rows, const Complex<double>* d_adjoint, std::size_t row_stride) {
  if (rows.n_row == 0) return;
  memory::ResidentArrays& arrays = context_.arrays();
  for_each_chunk(p_.sky, chunk_sources_, [&](std::size_t begin, std::size_t end) {
    DeviceAdjointJob job;
    job.sum = direct_job(p_, packed_, sky_, rows, begin, end);
    job.adjoint = d_adjoint;
    job.row_stride = static_cast<std::int32_t>(row_stride);
    job.weights = wish_.weights, job.positions = wish_.positions;
    job.shapes = wish_.shapes && job.sum.taper;
    job.n_sum = job.weight_sums() + (job.positions ? 3 : 0) + (job.shapes ? 3 : 0);
    const bool spectra = job.spectra() && job.weights;
    if (job.n_sum == 0 && !spectra) return;
    cut_into_portions(job);
    Handle partial, channel_partial;
    if (job.n_sum > 0) partial = arrays.scratch(sizeof(double) * static_cast<std::size_t>(job.partial_values()));
    const std::int64_t channel_groups = std::int64_t{job.n_portion} * job.lanes();
    if (spectra)
      channel_partial =
          arrays.scratch(sizeof(double) * static_cast<std::size_t>(channel_groups * job.channel_values()));
    Totals& totals = totals_of(job, begin);
    if (partial) job.partial = partial.as<double>();
    if (channel_partial) job.channel_partial = channel_partial.as<double>();
    launch(context_.compute(), job);
    if (partial)
      add_up(partial, std::int64_t{job.n_portion} * job.sum.n_run, std::int64_t{job.sum.n_source} * job.n_sum,
             totals.sums, totals.any);
    if (channel_partial) add_up(channel_partial, channel_groups, job.channel_values(), totals.channel_sums, totals.any);
    totals.any = true;
    if (keep_) return;
    collect(totals);
    totals_.clear();
  });
}

void AdjointSums::collect(const Totals& totals) {
  const Sky<double>& sky = p_.sky;
  const std::size_t n_plane = sky.planes.size(), n_channel = sky.n_weight_channel;
  const std::vector<double> sums = download(context_.arrays(), totals.sums),
                            channel_sums = download(context_.arrays(), totals.channel_sums);
  const auto n_sum = static_cast<std::size_t>(totals.n_sum);
  for (std::size_t s = totals.begin; s < totals.end; ++s) {
    const double* from = sums.data() + (s - totals.begin) * n_sum;
    if (totals.weights)
      for (std::size_t p = 0; p < n_plane; ++p) sums_.weights[s * n_plane + plane_of_sky(sky, p)] += *from++;
    if (wish_.positions)
      for (std::size_t i = 0; i < 3; ++i) sums_.positions[3 * s + i] += *from++;
    if (totals.shapes)
      for (std::size_t i = 0; i < 3; ++i) sums_.shapes[3 * (s - sky.n_point) + i] += *from++;
  }
  const double* from = channel_sums.data();
  if (channel_sums.empty()) return;
  const auto first = static_cast<std::size_t>(totals.first_channel), count = static_cast<std::size_t>(totals.n_channel);
  for (std::size_t s = totals.begin; s < totals.end; ++s)
    for (std::size_t f = first; f < first + count; ++f)
      for (std::size_t p = 0; p < n_plane; ++p)
        sums_.weights[(s * n_channel + f) * n_plane + plane_of_sky(sky, p)] += *from++;
}

const SourceAdjoints& AdjointSums::finish() {
  for (const auto& [name, totals] : totals_) collect(totals);
  totals_.clear();
  return sums_;
}

}  // namespace rimetree::psv
