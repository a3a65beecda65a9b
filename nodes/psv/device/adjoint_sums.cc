// Blocks have portions of the rows; their sums are added up in order by a second launch, and nothing else is stored.
// Adjoints of visibilities go up with their rows (of the planes that the sky uses), derivatives stay until all rows
// have passed. In double precision always.
#include "nodes/psv/device/adjoint_sums.h"

#include <bit>

#include "nodes/psv/pipeline/chunks.h"
#include "runtime/device/block_kernel.h"

namespace rimetree::psv::device {
namespace {

using Handle = memory::ResidentArrays::Handle;

constexpr std::int64_t kBusyBlocks = pipeline::kBusyBlocks;
/// Of a launch: what the third dimension of a grid may be.
constexpr std::int64_t kMostPortions = 65535;

/// How many sources a block has side by side.
void choose_sources(AdjointJob& job) {
  job.sources = static_cast<std::int32_t>(
      std::min<unsigned>(std::bit_ceil(static_cast<unsigned>(job.sum.n_source)),
                         unsigned{DeviceShape::kThreads} / static_cast<unsigned>(job.sum.tiles())));
}

/// So many portions whose sums take no more than the visibilities do, but one.
std::int64_t most_portions(AdjointJob job) {
  job.n_portion = 1;
  std::int64_t bytes = std::int64_t{8} * job.partial_values();
  if (job.has_channel_partial()) bytes += 8 * job.channel_groups() * job.channel_values();
  const std::int64_t room = std::int64_t{64} * job.sum.n_row * job.sum.n_out_channel;
  return std::max<std::int64_t>(room / std::max<std::int64_t>(bytes, 1), 1);
}

/// How the rows of a launch are cut into portions: as many as keep a device busy, of several stages each.
void cut_into_portions(AdjointJob& job) {
  const DirectJob<double>& sum = job.sum;
  const std::int64_t n_block = std::int64_t{(sum.n_source + job.sources - 1) / job.sources} * sum.n_run;
  const std::int64_t rows = job.rows_per_stage(), stages = (sum.n_row + rows - 1) / rows;
  const std::int64_t wanted = std::clamp<std::int64_t>(
      std::min({(kBusyBlocks + n_block - 1) / n_block, most_portions(job), (stages + 1) / 2}), 1, kMostPortions);
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

std::size_t bytes_of(std::int64_t n_double) { return sizeof(double) * static_cast<std::size_t>(n_double); }

}  // namespace

void add_adjoint_costs(const Summed& of, const PackedProblem& packed, DeviceCosts& costs) {
  const std::size_t n_plane = of.sky.planes.size(), n_run = packed.channels.runs.size();
  costs.visibility_beside += 64;
  // Sums and those of at least one portion. Blocks have as many stripes as there is room for.
  if (goes_by_sides(of, packed)) {
    const auto n_total = static_cast<std::size_t>(n_side(packed, false) + n_side(packed, true));
    const bool vary = packed.jones_vary();
    costs.source += sizeof(double) * (1 + n_run) * 6;
    (vary ? costs.source_channel : costs.source) += sizeof(double) * 8 * (n_total + (vary ? 1 : n_run));
    // Stripes times sources are no more than threads, but where each source has one stripe.
    if (vary)
      costs.fixed += sizeof(double) * 8 * (DeviceShape::kThreads / static_cast<std::size_t>(packed.channels.tiles)) *
                     costs.n_channel;
    return;
  }
  const bool spectra = of.sky.n_weight_channel > 1;
  costs.source += sizeof(double) * (1 + n_run) * ((spectra ? 0 : n_plane) + 6);
  if (spectra) costs.source_channel += sizeof(double) * n_plane * (1 + std::size_t{DeviceShape::kThreads});
}

AdjointJob AdjointSums::job_of(const AdjointRows& rows, std::size_t begin, std::size_t end) const {
  AdjointJob job;
  job.sum = direct_job(sky_, rows.rows, begin, end);
  job.sum.out = nullptr;
  job.adjoint = rows.d_adjoint;
  job.row_stride = static_cast<std::int32_t>(rows.row_stride);
  job.positions = wish_.positions;
  job.shapes = wish_.shapes && job.sum.taper();
  job.weights = wish_.weights || of_.jones.targets.any();
  if (goes_by_sides(of_, sky_.packed())) job.piece = rows.sides[0].d_piece;
  job.count_sums();
  choose_sources(job);
  return job;
}

AdjointSums::Totals& AdjointSums::totals_of(const AdjointJob& job, std::size_t begin) {
  // Sums that do not vary along channels are the same for all ranges of them.
  const bool spectra = job.spectra();
  Totals& totals = totals_[{begin, spectra ? job.sum.first_channel : 0}];
  if (totals.range.source_end > 0) return totals;
  totals.weights = job.weight_sums() > 0, totals.shapes = job.shapes;
  totals.n_sum = job.n_sum;
  if (totals.n_sum > 0) totals.sums = arrays().scratch(bytes_of(std::int64_t{job.sum.n_source} * totals.n_sum));
  if (job.has_channel_partial() && !job.sides()) totals.channel_sums = arrays().scratch(bytes_of(job.channel_values()));
  totals.range = {begin, begin + static_cast<std::size_t>(job.sum.n_source), job.sum.first_channel,
                  job.sum.n_out_channel};
  return totals;
}

/// Queues a launch whose portions are chosen, and what adds up the sums of its blocks.
void AdjointSums::pull(AdjointJob job, Totals& totals) {
  Handle partial, channel_partial;
  if (job.n_sum > 0) partial = arrays().scratch(bytes_of(job.partial_values()));
  if (job.has_channel_partial())
    channel_partial = arrays().scratch(bytes_of(job.channel_groups() * job.channel_values()));
  if (partial) job.partial = partial.as<double>();
  if (channel_partial) job.channel_partial = channel_partial.as<double>();
  launch(sky_.queue(), job);
  const auto add_up = [&](const double* from, std::int32_t n_group, std::int64_t n_value, const Handle& total) {
    AddJob sums;
    sums.partial = from;
    sums.total = total.as<double>();
    sums.n_piece = n_group, sums.n_value = n_value;
    sums.accumulate = totals.any;
    if (from == job.channel_partial && job.sides()) {
      sums.piece = job.piece;
      sums.n_piece = job.n_portion, sums.n_group = job.groups(), sums.n_side = n_side(sky_.packed(), job.right);
      sums.accumulate = true;
    }
    launch_threads(sky_.queue(), sums);
  };
  if (partial)
    add_up(job.partial, job.n_portion * job.sum.n_run, std::int64_t{job.sum.n_source} * job.n_sum, totals.sums);
  if (channel_partial)
    add_up(job.channel_partial, job.channel_groups(), job.channel_values(),
           job.sides() ? totals.sides[job.right] : totals.channel_sums);
  totals.any = true;
}

/// What one side gains, and places of sources with the left one.
void AdjointSums::pull_side(AdjointJob job, const DeviceSideRows& rows, bool right, Totals& totals) {
  job.order = rows.d_order, job.piece = rows.d_piece;
  job.right = right;
  job.weights = of_.jones.targets.any() || (wish_.weights && !right);
  if (right) job.positions = job.shapes = false;
  job.count_sums();
  if (job.n_sum == 0 && !job.weights) return;
  Handle& total = totals.sides[right];
  if (job.weights && !total) {
    total = arrays().scratch(bytes_of(n_side(sky_.packed(), right) * job.channel_values()));
    sky_.queue().zero(total.data(), total.bytes());
  }
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(most_portions(job), kMostPortions));
  for (std::size_t begin = 0; begin < rows.n_piece; begin += most) {
    job.piece = rows.d_piece + begin;
    job.n_portion = static_cast<std::int32_t>(std::min(most, rows.n_piece - begin));
    pull(job, totals);
  }
}

void AdjointSums::add(const AdjointRows& rows) {
  if (rows.rows.n_row == 0) return;
  for_each_chunk(of_.sky, chunk_sources_, [&](std::size_t begin, std::size_t end) {
    AdjointJob job = job_of(rows, begin, end);
    if (job.n_sum == 0 && !job.weights) return;
    Totals& totals = totals_of(job, begin);
    if (job.sides()) {
      for (const bool right : {false, true}) pull_side(job, rows.sides[right], right, totals);
    } else {
      cut_into_portions(job);
      pull(job, totals);
    }
    if (sky_.keeps()) return;
    collect(totals);
    totals_.clear();
  });
}

void AdjointSums::collect(const Totals& totals) {
  const Sky<double>& sky = of_.sky;
  const std::size_t n_plane = sky.planes.size(), n_channel = sky.n_weight_channel;
  const ProductRange& range = totals.range;
  const std::vector<double> sums = download(arrays(), totals.sums),
                            channel_sums = download(arrays(), totals.channel_sums);
  const auto n_sum = static_cast<std::size_t>(totals.n_sum);
  for (std::size_t s = range.source_begin; s < range.source_end; ++s) {
    const double* from = sums.data() + (s - range.source_begin) * n_sum;
    if (totals.weights)
      for (std::size_t p = 0; p < n_plane; ++p) sums_.weights[s * n_plane + plane_of_sky(sky, p)] += *from++;
    if (wish_.positions)
      for (std::size_t i = 0; i < 3; ++i) sums_.positions[3 * s + i] += *from++;
    if (totals.shapes)
      for (auto* axis : {sums_.axes[s - sky.n_point].major, sums_.axes[s - sky.n_point].minor})
        for (std::size_t i = 0; i < 3; ++i) axis[i] += *from++;
  }
  for (const bool right : {false, true})
    if (totals.sides[right])
      pull_through_terms(sky_, range, right, download(arrays(), totals.sides[right]), wish_, sums_);
  if (channel_sums.empty()) return;
  const double* from = channel_sums.data();
  const auto first = static_cast<std::size_t>(range.first_channel), count = static_cast<std::size_t>(range.n_channel);
  for (std::size_t s = range.source_begin; s < range.source_end; ++s)
    for (std::size_t f = first; f < first + count; ++f)
      for (std::size_t p = 0; p < n_plane; ++p)
        sums_.weights[(s * n_channel + f) * n_plane + plane_of_sky(sky, p)] += *from++;
}

const SourceAdjoints& AdjointSums::finish() {
  for (const auto& [name, totals] : totals_) collect(totals);
  totals_.clear();
  return sums_;
}

}  // namespace rimetree::psv::device
