#include "nodes/psv/device/compare_solve.h"

#include <algorithm>

#include "nodes/psv/device/adjoint_sums.h"
#include "runtime/device/block_kernel.h"

namespace rimetree::psv::device {
namespace {

using Handle = memory::ResidentArrays::Handle;

/// What an array that stays is; with the owner and the chunk it makes the key. Those of skies come before.
enum class ComparedRole : std::uint64_t { kRows = 100, kData, kWeights, kLeftSides, kRightSides };

double largest_reach(std::span<const ComparedTerm> terms) {
  double reach = 0;
  for (const ComparedTerm& term : terms) reach = std::max(reach, reach_of(term.sky, term.rows));
  return reach;
}

/// Chunks of rows, each a model, its comparison with the data, and the adjoint from there. T: of the model.
template <class T>
class CompareMethod final : public DeviceMethod {
 public:
  CompareMethod(std::span<const ComparedTerm> terms, const ComparedData& data, double slope, ThreadPool& threads)
      : terms_(terms), data_(data), slope_(slope), threads_(threads) {
    // Channels are regular for all terms or for none: they share visibilities. Those that are smeared are so over the
    // same widths; others have none.
    const auto smeared =
        std::ranges::find_if(terms, [](const ComparedTerm& term) { return term.rows.is_smeared_in_frequency(); });
    const bool any_smeared = smeared != terms.end();
    const DeviceChannels channels =
        device_channels((any_smeared ? *smeared : terms.front()).channels, largest_reach(terms), any_smeared);
    for (const ComparedTerm& term : terms) packed_.emplace_back(term, channels);
  }

  DeviceCosts costs() const override;
  std::span<const DeviceRun> runs() const override { return packed_.front().channels.runs; }
  bool gives_visibilities() const override { return false; }
  void open(DeviceSpan devices, const DeviceChunks& chunks, bool channels_are_cut) override;
  std::size_t fill(DeviceSlot&) override { return 0; }
  void compute(std::size_t device, DeviceSlot& slot) override;
  ComparisonResult finish();

 private:
  /// One term on one device.
  struct TermSky {
    std::unique_ptr<DeviceSky<double>> wide;
    std::unique_ptr<DeviceSky<T>> own;  // nothing where that is the same
    std::unique_ptr<AdjointSums> sums;
    DeviceSky<T>& model() {
      if constexpr (std::is_same_v<T, double>)
        return *wide;
      else
        return *own;
    }
  };
  struct OnDevice {
    explicit OnDevice(DeviceContext& device) : context(device) {}
    DeviceContext& context;
    std::vector<TermSky> terms;
    Handle total;
    bool any = false;
  };
  template <class Make>
  Handle resident(DeviceContext& context, ComparedRole role, const DeviceSlot& slot, std::size_t term, Make&& make);
  Handle rows_of(DeviceContext& context, const DeviceSlot& slot, std::size_t term);
  Handle sides_of(DeviceContext& context, const DeviceSlot& slot, std::size_t term, bool right);
  std::vector<DeviceRow> make_rows(const DeviceSlot& slot, std::size_t term) const;
  void compare(OnDevice& on, const DeviceSlot& slot);
  void pull(OnDevice& on, const DeviceSlot& slot, std::size_t term, const DirectRows& rows);

  std::span<const ComparedTerm> terms_;
  const ComparedData& data_;
  double slope_;
  ThreadPool& threads_;
  std::vector<PackedProblem> packed_;  // by term
  std::vector<OnDevice> devices_;      // [device]
  std::size_t chunk_sources_ = 0;
};

template <class T>
DeviceCosts CompareMethod<T>::costs() const {
  DeviceCosts all;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const ComparedTerm& term = terms_[i];
    DeviceCosts costs = packed_[i].costs<double>(term);
    add_adjoint_costs(term, packed_[i], costs);
    if (sizeof(T) < sizeof(double)) costs.source += costs.source;  // weights in both precisions
    all.n_source = std::max(all.n_source, costs.n_source);
    all.n_row = costs.n_row, all.n_channel = costs.n_channel, all.longest_run = costs.longest_run;
    all.fixed += costs.fixed;
    all.source += costs.source;
    all.source_channel += costs.source_channel;
    all.row_beside += sizeof(DeviceRow) + (goes_by_sides(term, packed_[i]) ? kSideRowBytes : 0);
    all.visibility_beside = std::max(all.visibility_beside, costs.visibility_beside + sizeof(Complex<double>) * 4);
  }
  all.fixed += 2 * sizeof(double);
  all.visibility = 4 * sizeof(Complex<double>);
  all.visibility_beside += 4 * (sizeof(Complex<double>) + sizeof(double)) + 1;  // and sums of blocks
  all.rows_per_block = DeviceShape::kThreads;
  return all;
}

template <class T>
void CompareMethod<T>::open(DeviceSpan devices, const DeviceChunks& chunks, bool channels_are_cut) {
  chunk_sources_ = chunks.sources;
  devices_.clear();
  for (const auto& device : devices) {
    OnDevice& on = devices_.emplace_back(*device);
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const ComparedTerm& term = terms_[i];
      const bool keep = chunks.sources >= term.sky.n_source && !(channels_are_cut && packed_[i].jones_vary());
      TermSky& sky = on.terms.emplace_back();
      sky.wide = std::make_unique<DeviceSky<double>>(term, packed_[i], *device, threads_, keep);
      if constexpr (!std::is_same_v<T, double>)
        sky.own = std::make_unique<DeviceSky<T>>(term, packed_[i], *device, threads_, keep);
      sky.sums = std::make_unique<AdjointSums>(*sky.wide, term.wish, chunks.sources);
    }
    on.total = device->arrays().scratch(2 * sizeof(double));
  }
}

/// An array of a chunk that stays in the data's version.
template <class T>
template <class Make>
Handle CompareMethod<T>::resident(DeviceContext& context, ComparedRole role, const DeviceSlot& slot, std::size_t term,
                                  Make&& make) {
  const auto first_channel = static_cast<std::uint64_t>(slot.range->first_channel);
  // The data of one time-slot group do not replace those of another: in a fit to several they are all looked at again.
  const std::uint64_t whose = mix(data_.version, static_cast<std::uint64_t>(role) + (term << 8));
  const std::uint64_t owner = mix(mix(mix(whose, terms_.front().owner), std::uint64_t{slot.first_row}), first_channel);
  const memory::ArrayKey key{owner, mix(std::uint64_t{slot.n_row}, static_cast<std::uint64_t>(slot.range->count))};
  if (Handle there = context.arrays().get_if_there(key)) return there;
  const auto values = make();
  return context.arrays().get(key, std::as_bytes(std::span(values)));
}

template <class T>
Handle CompareMethod<T>::rows_of(DeviceContext& context, const DeviceSlot& slot, std::size_t term) {
  return resident(context, ComparedRole::kRows, slot, term, [&] { return make_rows(slot, term); });
}

template <class T>
Handle CompareMethod<T>::sides_of(DeviceContext& context, const DeviceSlot& slot, std::size_t term, bool right) {
  return resident(context, right ? ComparedRole::kRightSides : ComparedRole::kLeftSides, slot, term,
                  [&] { return side_rows(make_rows(slot, term), packed_[term], right); });
}

template <class T>
std::vector<DeviceRow> CompareMethod<T>::make_rows(const DeviceSlot& slot, std::size_t term) const {
  std::vector<DeviceRow> rows;
  for (std::size_t r = slot.first_row; r < slot.first_row + slot.n_row; ++r)
    rows.push_back(device_row(terms_[term].rows, packed_[term].jones, r));
  return rows;
}

template <class T>
void CompareMethod<T>::compute(std::size_t device, DeviceSlot& slot) {
  OnDevice& on = devices_[device];
  std::vector<Handle> handles;
  std::vector<DirectRows> rows;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    handles.push_back(rows_of(on.context, slot, i));
    rows.push_back({handles.back().template as<const DeviceRow>(), slot.n_row, slot.range,
                    slot.d_out.template as<Complex<double>>()});
    launch_sum(on.terms[i].model(), rows.back(), chunk_sources_, i > 0);
  }
  compare(on, slot);
  for (std::size_t i = 0; i < terms_.size(); ++i) pull(on, slot, i, rows[i]);
}

/// Residuals and chi-square of a chunk, and conjugate adjoints in place of its visibilities.
template <class T>
void CompareMethod<T>::compare(OnDevice& on, const DeviceSlot& slot) {
  const auto count = static_cast<std::size_t>(slot.range->count), n = 4 * slot.n_row * count;
  std::vector<Complex<double>> data;
  std::vector<double> weight;
  const auto write = [&] {
    if (!data.empty()) return;
    data.resize(n), weight.resize(n);
    data_.write(slot.first_row, slot.n_row, static_cast<std::size_t>(slot.range->first_channel), count, data.data(),
                weight.data());
  };
  const Handle d_data = resident(on.context, ComparedRole::kData, slot, 0, [&] { return write(), std::span(data); });
  const Handle d_weight =
      resident(on.context, ComparedRole::kWeights, slot, 0, [&] { return write(), std::span(weight); });
  CompareJob job;
  job.data = d_data.template as<const Complex<double>>();
  job.weight = d_weight.template as<const double>();
  job.model = slot.d_out.template as<Complex<double>>();
  job.n_row = static_cast<std::int32_t>(slot.n_row);
  job.n_channel = slot.range->count;
  job.slope = slope_;
  job.accumulate = on.any;
  const Handle partial = on.context.arrays().scratch(2 * sizeof(double) * static_cast<std::size_t>(job.n_block()));
  job.partial = partial.template as<double>();
  job.total = on.total.template as<double>();
  launch(on.context.compute(), job);
  on.any = true;
}

template <class T>
void CompareMethod<T>::pull(OnDevice& on, const DeviceSlot& slot, std::size_t term, const DirectRows& rows) {
  const Sky<double>& sky = terms_[term].sky;
  const auto count = static_cast<std::size_t>(slot.range->count), n_plane = sky.planes.size();
  AdjointRows pulled{rows, rows.d_out, 4 * count, {}};
  Handle sides[2];
  if (goes_by_sides(terms_[term], packed_[term]))
    for (const bool right : {false, true}) {
      sides[right] = sides_of(on.context, slot, term, right);
      pulled.sides[right] = {sides[right].data(), sides[right].bytes(), slot.n_row};
    }
  if (n_plane == 8) return on.terms[term].sums->add(pulled);
  PlanesJob job;
  job.correlations = rows.d_out;
  job.n_row = static_cast<std::int32_t>(slot.n_row);
  job.n_channel = slot.range->count;
  job.n_plane = static_cast<std::int32_t>(n_plane);
  std::copy(sky.planes.begin(), sky.planes.end(), job.plane);
  const Handle planes = on.context.arrays().scratch(sizeof(Complex<double>) * n_plane * slot.n_row * count);
  job.planes = planes.template as<Complex<double>>();
  launch_threads(on.context.compute(), job);
  pulled.d_adjoint = job.planes, pulled.row_stride = n_plane * count;
  on.terms[term].sums->add(pulled);
}

/// Device by device, in their order.
template <class T>
ComparisonResult CompareMethod<T>::finish() {
  ComparisonResult result;
  for (const ComparedTerm& term : terms_)
    result.adjoint.push_back(zero_adjoints(term.sky, term.wish, term.jones.targets));
  for (OnDevice& on : devices_) {
    if (!on.any) continue;
    double total[2];
    on.context.arrays().download(on.total, std::as_writable_bytes(std::span(total)));
    result.chi_square += total[0];
    result.lost += total[1];
    for (std::size_t i = 0; i < terms_.size(); ++i) add(result.adjoint[i], on.terms[i].sums->finish());
  }
  return result;
}

template <class T>
ComparisonResult compare_as(std::span<const ComparedTerm> terms, const ComparedData& data, double slope,
                            const Machine& machine) {
  const Summed& first = terms.front();
  CompareMethod<T> method(terms, data, slope, machine.threads);
  const DeviceOutcome done = run_on_devices(method, Output{}, first.n_channel(), machine);
  ComparisonResult result = method.finish();
  std::size_t n_source = 0;
  for (const ComparedTerm& term : terms) n_source += term.sky.n_source;
  result.report = "chi-square and its derivatives of " + std::to_string(n_source) + " sources, " +
                  std::to_string(first.rows.n_row) + " rows, " + std::to_string(first.n_channel()) + " channels on " +
                  machine.first().device().name() + ", " + done.text();
  return result;
}

}  // namespace

ComparisonResult compare_on_devices(std::span<const ComparedTerm> terms, const ComparedData& data, double slope,
                                    double tolerance, const Machine& machine) {
  const bool single = std::ranges::all_of(terms, [&](const Summed& term) { return singles_meet(tolerance, term); });
  if (single) return compare_as<float>(terms, data, slope, machine);
  return compare_as<double>(terms, data, slope, machine);
}

}  // namespace rimetree::psv::device
