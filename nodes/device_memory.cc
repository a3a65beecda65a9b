// DeviceMemory: which devices a forest is evaluated on, how much of their memory it may take, and what that has cost
//
// Children: none. A forest needs one such node at most; it need not be anybody's child. What it says is asked for when
// the forest is compiled, and again when its state has changed.
// State: device (names with commas between them, "auto" or "none"; default "auto"), budget_bytes (on each device;
// default 0: four fifths of what is free).
// Result: [8], summed over the devices so far: budget, resident now, peak (bytes); copied to the device, copied back
// (bytes); arrays found there, arrays evicted; time in copies (s). All zero on the host.
// Flags: none. Derivative: none. After the "overlord" node that the author of MeqTrees' GPU node asked for (Baxter, MSc
// thesis, University of Cape Town, future work).
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/node.h"
#include "runtime/device/device_context.h"

namespace rimetree {

class DeviceMemory final : public Node {
 public:
  explicit DeviceMemory(const State& state)
      : Node(state), choice_{state.text("device"), static_cast<std::size_t>(state.integer("budget_bytes"))} {}
  static NodeClass info() {
    return {.name = "DeviceMemory",
            .summary = "Which devices the forest is evaluated on, within what memory, and what that has cost.",
            .result = "[8]: budget, resident, peak (bytes), bytes up, bytes down, hits, evictions, copying (s)",
            .reference = "Baxter, MSc thesis, University of Cape Town: persistent device memory as future work",
            .state = {{.name = "device",
                       .type = StateType::text,
                       .default_value = std::string("auto"),
                       .doc = "names with commas between them (cuda:0, simulated:BYTES, host), auto: all GPUs, none"},
                      {.name = "budget_bytes",
                       .type = StateType::integer,
                       .default_value = std::int64_t{0},
                       .doc = "what may be taken of each device's memory; 0: four fifths of what is free",
                       .limits = {.least = 0}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {kFields}; }
  NodeTraits own_traits() const override { return {.always_evaluates = true}; }
  Capabilities capabilities() const override { return {.devices = &choice_}; }
  std::unique_ptr<BatchKernel> make_kernel() const override;

 protected:
  void evaluate(Evaluation&) const override {}  // the kernel does it, which knows the devices

 private:
  static constexpr int kFields = 8;
  class Kernel;

  DeviceChoice choice_;
};

class DeviceMemory::Kernel final : public BatchKernel {
 public:
  void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
    double sum[kFields] = {};
    for (const auto& device : context.devices) {
      const DeviceReport report = device->report();
      const double fields[kFields] = {double(report.budget_bytes),      double(report.arrays.resident_bytes),
                                      double(report.arrays.peak_bytes), double(report.bytes_to_device),
                                      double(report.bytes_to_host),     double(report.arrays.hits),
                                      double(report.arrays.evictions),  report.copy_seconds};
      for (int i = 0; i < kFields; ++i) sum[i] += fields[i];
    }
    for (Evaluation* evaluation : batch) {
      Vells value = evaluation->make(NumberType::real, CellShape{});
      std::copy(sum, sum + kFields, value.real());
      evaluation->set(std::move(value));
      evaluation->set_flags({});
    }
  }
};

std::unique_ptr<BatchKernel> DeviceMemory::make_kernel() const { return std::make_unique<Kernel>(); }

RIMETREE_REGISTER_NODE(DeviceMemory);

}  // namespace rimetree
