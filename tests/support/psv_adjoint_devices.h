// The adjoint kernel on devices, as tests of it call it.
#pragma once

#include "nodes/psv/device/adjoint_solve.h"
#include "tests/support/psv_adjoint_check.h"
#include "tests/support/psv_devices.h"

namespace rimetree::testing {

inline psv::adjoint::SourceAdjoints pull_on(Devices& devices, const AdjointProblem& of,
                                            psv::adjoint::SourceWish wish = {true, true, true}) {
  Cancellation cancellation;
  psv::device::DeviceAdjoints found =
      psv::device::pull_back_on_devices({of.sky, of.channels, of.ordered.rows, of.jones, 1, psv::version_of(of.sky)},
                                        of.given(), wish, {devices.contexts, *devices.threads, cancellation});
  devices.report = found.report;
  return std::move(found.sums);
}

/// All derivatives of one kind against each other, in units of the largest.
inline void expect_equal(const psv::adjoint::SourceAdjoints& got, const psv::adjoint::SourceAdjoints& expected,
                         double error) {
  EXPECT_LE(relative_error(got.weights, expected.weights), error) << "weights";
  EXPECT_LE(relative_error(got.positions, expected.positions), error) << "positions";
  EXPECT_LE(relative_error(numbers_of(got.axes), numbers_of(expected.axes)), error) << "shapes";
  EXPECT_LE(relative_error(parts_of(got.moving_jones), parts_of(expected.moving_jones)), error) << "moving terms";
  EXPECT_LE(relative_error(parts_of(got.steady_jones), parts_of(expected.steady_jones)), error) << "steady terms";
}

/// Fails each allocation, alone and with those that follow: what comes out must be right, or be OutOfMemory, and
/// nothing be left behind.
inline void expect_any_allocation_may_fail(const AdjointProblem& problem, std::size_t least, double error) {
  Devices undisturbed;
  const psv::adjoint::SourceAdjoints expected = pull_on(undisturbed, problem);
  const std::size_t n_allocation = undisturbed.simulated.front()->allocations_tried();
  ASSERT_GT(n_allocation, least);
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{100000}}) {
      Devices devices;
      devices.simulated.front()->fail_allocations(n, count);
      try {
        expect_equal(pull_on(devices, problem), expected, error);
      } catch (const memory::OutOfMemory&) {
        EXPECT_GT(count, 5u) << "a device that works again is used again";
      }
      devices.simulated.front()->fail_allocations(0, 0);
      expect_same_bits(pull_on(devices, problem), expected);  // and all is well afterwards
      const auto simulated = devices.simulated.front();
      devices.contexts.clear();
      EXPECT_EQ(simulated->statistics().bytes_in_use, 0u);
    }
}

}  // namespace rimetree::testing
