#include "nodes/psv/device/adjoint_solve.h"

#include <cstdio>
#include <cstring>

#include "nodes/psv/device/adjoint_sums.h"
#include "nodes/psv/device/compare_block.h"

namespace rimetree::psv {
namespace {

/// Rows with the conjugate adjoints of their visibilities up; nothing down until all are done.
class AdjointMethod final : public DeviceMethod {
 public:
  AdjointMethod(const DeviceProblem& problem, const ResultAdjoints& adjoints, SourceWish wish, ThreadPool& threads)
      : p_(problem),
        adjoints_(adjoints),
        wish_(wish),
        threads_(threads),
        packed_(problem, device_channels(problem.channels, reach_of(problem.sky, problem.rows))),
        components_(static_cast<std::size_t>(adjoint_components(static_cast<int>(problem.sky.planes.size())))),
        by_sides_(goes_by_sides(problem, packed_)) {}

  DeviceCosts costs() const override {
    DeviceCosts costs = packed_.costs<double>(p_);
    costs.row = sizeof(DeviceRow) + (by_sides_ ? kSideRowBytes : 0);
    costs.visibility = 0;
    costs.visibility_up = components_ * sizeof(Complex<double>);
    costs.rows_per_block = DeviceShape::kThreads;
    add_adjoint_costs(p_, packed_, costs);
    return costs;
  }
  std::span<const DeviceRun> runs() const override { return packed_.channels.runs; }
  bool gives_visibilities() const override { return false; }
  void open(std::span<const std::unique_ptr<DeviceContext>> devices, const DeviceChunks& chunks,
            bool channels_are_cut) override {
    const bool keep = chunks.sources >= p_.sky.n_source && !(channels_are_cut && packed_.jones_vary());
    sums_.clear();
    skies_.clear();
    for (const auto& device : devices) {
      skies_.push_back(std::make_unique<DeviceSky<double>>(p_, packed_, *device, threads_, keep));
      sums_.push_back(std::make_unique<AdjointSums>(*skies_.back(), wish_, chunks.sources));
    }
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
  bool regular() const { return packed_.channels.regular; }

  /// Device by device, in their order.
  SourceAdjoints finish() {
    SourceAdjoints all = zero_adjoints(p_.sky, wish_, p_.jones.targets);
    for (const auto& sums : sums_) add(all, sums->finish());
    return all;
  }

 private:
  const DeviceProblem& p_;
  const ResultAdjoints& adjoints_;
  SourceWish wish_;
  ThreadPool& threads_;
  PackedProblem packed_;
  std::size_t components_;
  bool by_sides_;
  std::vector<std::unique_ptr<DeviceSky<double>>> skies_;  // [device]
  std::vector<std::unique_ptr<AdjointSums>> sums_;         // [device]
};

std::size_t AdjointMethod::fill(DeviceSlot& slot) {
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  auto* adjoints = reinterpret_cast<Complex<double>*>(rows + slot.n_row);
  const auto count = static_cast<std::size_t>(slot.range->count),
             first = static_cast<std::size_t>(slot.range->first_channel);
  threads_.parallel_for(slot.n_row, 256, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r) {
      rows[r] = device_row(p_.rows, packed_.jones, slot.first_row + r);
      const Complex<double>* from = adjoints_.row[slot.first_row + r] + first;
      Complex<double>* to = adjoints + r * components_ * count;
      for (std::size_t f = 0; f < count; ++f) {
        Complex<double> c[4];
        for (int e = 0; e < 4; ++e) c[e] = conj(from[e * adjoints_.plane_stride + static_cast<std::ptrdiff_t>(f)]);
        for (std::size_t p = 0; p < components_; ++p)
          to[p * count + f] = p_.sky.planes.size() == 8 ? c[p] : plane_adjoint(p_.sky.planes[p], c, 1);
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

std::string report(const DeviceProblem& p, const DeviceOutcome& done, DeviceContext& first, bool regular) {
  char text[400];
  std::snprintf(text, sizeof text,
                "derivatives of %zu sources from %zu rows, %zu channels on %s, in chunks of %zu sources, %zu rows and "
                "%zu channels%s%s",
                p.sky.n_source, p.rows.n_row, p.channels.frequency_hz.size(), first.device().name().c_str(),
                done.chunks.sources, done.chunks.rows, done.chunks.channels, regular ? "" : "; irregular channels",
                done.n_retry > 0 ? "; memory was short" : "");
  return text;
}

}  // namespace

DeviceAdjoints pull_back_on_devices(const DeviceProblem& problem, const ResultAdjoints& adjoints, SourceWish wish,
                                    std::span<const std::unique_ptr<DeviceContext>> devices, ThreadPool& threads,
                                    Cancellation& cancellation) {
  if (problem.sky.n_source == 0 || problem.rows.n_row == 0) return {zero_adjoints(problem.sky, wish), ""};
  AdjointMethod method(problem, adjoints, wish, threads);
  const DeviceOutcome done =
      run_on_devices(method, Output{}, problem.channels.frequency_hz.size(), devices, threads, cancellation);
  return {method.finish(), report(problem, done, *devices.front(), method.regular())};
}

}  // namespace rimetree::psv
