#include "nodes/psv/device/adjoint_solve.h"

#include <cstring>

#include "nodes/psv/device/adjoint_sums.h"
#include "nodes/psv/plane_shares.h"

namespace rimetree::psv::device {
namespace {

/// Rows with the conjugate adjoints of their visibilities up; nothing down until all are done.
class AdjointMethod final : public SkyMethod<double> {
 public:
  AdjointMethod(const Summed& of, const ResultAdjoints& adjoints, SourceWish wish, ThreadPool& threads)
      : SkyMethod(of, device_channels(of.channels, reach_of(of.sky, of.rows), of.rows.is_smeared_in_frequency()),
                  threads),
        adjoints_(adjoints),
        wish_(wish),
        components_(static_cast<std::size_t>(adjoint_components(static_cast<int>(of.sky.planes.size())))),
        by_sides_(goes_by_sides(of, packed_)) {}

  DeviceCosts costs() const override {
    DeviceCosts costs = packed_.costs<double>(of_);
    costs.row = sizeof(DeviceRow) + (by_sides_ ? kSideRowBytes : 0);
    costs.visibility = 0;
    costs.visibility_up = components_ * sizeof(Complex<double>);
    costs.rows_per_block = DeviceShape::kThreads;
    add_adjoint_costs(of_, packed_, costs);
    return costs;
  }
  bool gives_visibilities() const override { return false; }
  void open(DeviceSpan devices, const DeviceChunks& chunks, bool channels_are_cut) override {
    sums_.clear();
    SkyMethod::open(devices, chunks, channels_are_cut);
    for (std::size_t i = 0; i < devices.size(); ++i)
      sums_.push_back(std::make_unique<AdjointSums>(sky(i), wish_, chunks.sources));
  }
  std::size_t fill(DeviceSlot& slot) override;
  void compute(std::size_t device, DeviceSlot& slot) override {
    const auto* d_rows = slot.d_rows.as<const DeviceRow>();
    const auto* d_adjoint = reinterpret_cast<const Complex<double>*>(d_rows + slot.n_row);
    const std::size_t row_stride = components_ * static_cast<std::size_t>(slot.range->count);
    AdjointRows rows{{d_rows, slot.n_row, slot.range, nullptr}, d_adjoint, row_stride, {}};
    if (by_sides_) {
      const auto* d_sides = reinterpret_cast<const std::byte*>(d_adjoint + slot.n_row * row_stride);
      rows.sides[0] = {d_sides, slot.count[0], slot.n_row};
      rows.sides[1] = {d_sides + slot.count[0], slot.count[1], slot.n_row};
    }
    sums_[device]->add(rows);
  }

  /// Device by device, in their order.
  SourceAdjoints finish() {
    SourceAdjoints all = zero_adjoints(of_.sky, wish_, of_.jones.targets);
    for (const auto& sums : sums_) add(all, sums->finish());
    return all;
  }

 private:
  const ResultAdjoints& adjoints_;
  SourceWish wish_;
  std::size_t components_;
  bool by_sides_;
  std::vector<std::unique_ptr<AdjointSums>> sums_;  // [device]
};

std::size_t AdjointMethod::fill(DeviceSlot& slot) {
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  auto* adjoints = reinterpret_cast<Complex<double>*>(rows + slot.n_row);
  const auto count = static_cast<std::size_t>(slot.range->count),
             first = static_cast<std::size_t>(slot.range->first_channel);
  threads_.parallel_for(slot.n_row, 256, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r) {
      rows[r] = device_row(of_.rows, packed_.jones, slot.first_row + r);
      const Complex<double>* from = adjoints_.row[slot.first_row + r] + first;
      Complex<double>* to = adjoints + r * components_ * count;
      for (std::size_t f = 0; f < count; ++f) {
        Complex<double> c[4];
        for (int e = 0; e < 4; ++e) c[e] = conj(from[e * adjoints_.plane_stride + static_cast<std::ptrdiff_t>(f)]);
        for (std::size_t p = 0; p < components_; ++p)
          to[p * count + f] = of_.sky.planes.size() == 8 ? c[p] : plane_adjoint(of_.sky.planes[p], c, 1);
      }
    }
  });
  std::size_t bytes = slot.n_row * (sizeof(DeviceRow) + components_ * count * sizeof(Complex<double>));
  if (!by_sides_) return bytes;
  for (const bool right : {false, true}) {
    const std::vector<std::int32_t> sides = side_rows({rows, slot.n_row}, packed_, right);
    slot.count[right] = sides.size() * sizeof(std::int32_t);
    std::memcpy(static_cast<std::byte*>(slot.rows.get()) + bytes, sides.data(), slot.count[right]);
    bytes += slot.count[right];
  }
  return bytes;
}

}  // namespace

DeviceAdjoints pull_back_on_devices(const Summed& of, const ResultAdjoints& adjoints, SourceWish wish,
                                    const Machine& machine) {
  if (of.sky.n_source == 0 || of.rows.n_row == 0) return {zero_adjoints(of.sky, wish), ""};
  AdjointMethod method(of, adjoints, wish, machine.threads);
  const DeviceOutcome done = run_on_devices(method, Output{}, of.n_channel(), machine);
  std::string report = "derivatives of " + std::to_string(of.sky.n_source) + " sources from " +
                       std::to_string(of.rows.n_row) + " rows, " + std::to_string(of.n_channel()) + " channels on " +
                       machine.first().device().name() + ", " + done.text() +
                       (method.regular() ? "" : "; irregular channels");
  return {method.finish(), std::move(report)};
}

}  // namespace rimetree::psv::device
