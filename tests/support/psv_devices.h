// Devices that PSV is tested on.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "memory/simulated_device.h"
#include "nodes/psv/planner/device_solve.h"
#include "tests/support/forest_fixture.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {

/// Devices, and a case's visibilities as they give them.
struct Devices {
  /// Those that RIMETREE_DEVICE names; without it a simulated one.
  static Devices chosen() {
    test::registry();  // the plugin for GPUs
    const char* names = std::getenv("RIMETREE_DEVICE");
    Devices devices(std::size_t{1} << 28, 0);
    if (names != nullptr) devices.contexts = open_devices({names, 0});
    if (devices.contexts.empty()) devices.contexts = open_devices({"simulated", 0});
    return devices;
  }
  explicit Devices(std::size_t capacity = std::size_t{1} << 28, std::size_t n = 1, std::size_t budget = 0,
                   bool queues_run_ahead = false) {
    for (std::size_t i = 0; i < n; ++i) {
      simulated.push_back(std::make_shared<memory::SimulatedDevice>(capacity, queues_run_ahead));
      contexts.push_back(std::make_unique<DeviceContext>(simulated.back(), budget));
    }
  }
  std::vector<Complex<double>> solve(const Case& c, bool single, const psv::planner::MethodWish& wish = {},
                                     const psv::BaselineEnds& ends = {}) {
    const psv::Sky<double> sky = psv::pack_sky<double>(c.sky_input());
    const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
    const psv::JonesTerms jones{c.n_pair, c.jones_pairs.data(), c.options.jones >= JonesKind::kVarying};
    std::vector<Complex<double>> out(c.n_row() * 4 * c.n_channel(), {-12345, -12345});
    std::vector<Complex<double>*> row;
    for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(out.data() + r * 4 * c.n_channel());
    const psv::Output output{row.data(), std::ptrdiff_t(c.n_channel())};
    const psv::Rows rows = c.psv_rows();
    Cancellation cancellation;
    const psv::Summed of{sky, channels, rows, jones, 1, psv::version_of(sky), ends};
    const psv::pipeline::Machine machine{contexts, *threads, cancellation};
    report = psv::planner::solve_on_devices(of, output, single ? 1e-6 : 1e-12, machine, wish).report;
    return out;
  }
  std::vector<std::shared_ptr<memory::SimulatedDevice>> simulated;
  DeviceContexts contexts;
  std::unique_ptr<ThreadPool> threads = std::make_unique<ThreadPool>(1);
  std::string report;
};

inline bool same_bits(const std::vector<Complex<double>>& a, const std::vector<Complex<double>>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

}  // namespace rimetree::testing
