// The device that tests run on: the one that RIMETREE_DEVICE names, else a simulated one. Devices run bodies cell by
// cell with functions of their own (a simulated one with the C library's), the host runs them as programs
// (runtime/program), and the compiler for a GPU contracts products with sums: results are the host's but for rounding.
#pragma once

#include <cstdlib>
#include <string>

#include "memory/devices.h"
#include "runtime/device/device_context.h"
#include "tests/support/forest_fixture.h"
#include "tests/support/same_bits.h"

namespace rimetree::test {

/// By its name; never the host. Without a GPU "auto" is a simulated one.
inline std::string chosen_device() {
  registry();  // the plugin for GPUs
  const char* named = std::getenv("RIMETREE_DEVICE");
  const std::string name = named != nullptr ? named : "";
  if (name == "auto" && !memory::device_names().empty()) return memory::device_names().front();
  return name.empty() || name == "none" || name == "auto" ? "simulated" : name;
}
inline bool gives_the_hosts_bits(const Evaluator& evaluator) {
  for (const auto& context : evaluator.devices())
    if (!context->device().is_emulated()) return false;
  return true;
}

/// Equal but for rounding, of which more is lost where numbers cancel: to 1e-12 of the largest.
inline void expect_close(const Vells& got, const Vells& expected) {
  ASSERT_EQ(got.empty(), expected.empty());
  if (expected.empty()) return;
  ASSERT_EQ(got.type(), expected.type());
  ASSERT_TRUE(got.dims() == expected.dims());
  ASSERT_TRUE(got.cells() == expected.cells());
  const std::size_t n = expected.bytes() / sizeof(double);
  const auto *a = static_cast<const double*>(got.host()), *b = static_cast<const double*>(expected.host());
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isfinite(b[i]))
      EXPECT_LE(std::abs(a[i] - b[i]), 1e-12 * largest) << "number " << i << ": " << a[i] << ", not " << b[i];
    else
      EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << "number " << i;
  }
}

/// What the devices of an evaluator gave, and the host.
inline void expect_as_on_the_host(const Evaluator& /*evaluator*/, const Result& got, const Result& expected) {
  expect_alike(got, expected, expect_close);
}
inline void expect_as_on_the_host(const Evaluator& evaluator, const std::vector<ResultPtr>& got,
                                  const std::vector<ResultPtr>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_ok(expected[i]);
    expect_as_on_the_host(evaluator, *got[i], *expected[i]);
  }
}

}  // namespace rimetree::test
