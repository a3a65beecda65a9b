// Which method a device takes, and what the file of tuned variants does to that.
#include "nodes/psv/planner/device_planner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "runtime/core/error.h"
#include "runtime/device/device_tuner.h"
#include "runtime/device/tuning_file.h"
#include "tests/support/psv_array_case.h"
#include "tests/support/psv_devices.h"

namespace rimetree::testing {
namespace {

using psv::planner::PhasorsOf;

constexpr double kH200Clock_hz = 1.98e9;

/// All baselines of an array, in one time slot.
psv::matrix::MatrixPlan plan_of(std::int32_t n_antenna, bool with_jones = false) {
  psv::matrix::MatrixPlan plan;
  plan.with_jones = with_jones;
  for (std::int32_t p = 0; p < n_antenna; ++p) {
    plan.left.push_back({p, 0});
    for (std::int32_t q = p + 1; q < n_antenna; ++q) plan.entries.push_back({0, p, q, false, plan.entries.size()});
  }
  plan.right = plan.left;
  return plan;
}

psv::planner::DeviceWork work_of(const psv::matrix::MatrixPlan& plan, int n_plane, bool single = false) {
  psv::planner::DeviceWork work;
  work.n_source = 1000, work.n_row = double(plan.entries.size()), work.n_channel = 64;
  work.n_plane = n_plane, work.single = single;
  work.jones = work.jones_vary = plan.with_jones;
  return work;
}

TEST(PsvDevicePlanner, RatesAreThoseOfDataSheets) {
  // Teraflops, two per multiply-add: NVIDIA's data sheets of H200 SXM, A100 SXM and RTX 4090.
  const DeviceRates h200 = gpu_rates(9, 0, 132, kH200Clock_hz), a100 = gpu_rates(8, 0, 108, 1.41e9),
                    rtx = gpu_rates(8, 9, 128, 2.52e9);
  const auto expect = [](double multiply_adds, double teraflops) {
    EXPECT_NEAR(2e-12 * multiply_adds, teraflops, 0.02 * teraflops);
  };
  expect(h200.double_plain, 34), expect(h200.double_tensor, 67), expect(h200.single_plain, 67);
  expect(a100.double_plain, 9.7), expect(a100.double_tensor, 19.5), expect(a100.tf32_tensor, 156);
  expect(rtx.double_plain, 1.29), expect(rtx.single_plain, 82.6), expect(rtx.tf32_tensor, 82.6);
  EXPECT_EQ(gpu_rates(7, 5, 72, 1.5e9).double_tensor, 0);
  EXPECT_GT(gpu_rates(13, 0, 100, 1e9).single_plain, 0) << "newer than anything known";
}

TEST(PsvDevicePlanner, CountsTheTilesThatAreNeeded) {
  const psv::matrix::MatrixPlan plan = plan_of(64);
  const psv::matrix::TileCount all = psv::matrix::count_tiles(plan, 32);
  EXPECT_EQ(all.tiles, 3u) << "the upper triangle";
  EXPECT_EQ(all.pairs, 32u * 32 + 2 * (16 * 32 + 16 * 16)) << "in units of 16 x 8, without those below the diagonal";
  EXPECT_EQ(all.antennas, 128u);
  psv::matrix::MatrixPlan few = plan;
  std::erase_if(few.entries, [](const psv::matrix::MatrixEntry& e) { return e.right >= 32; });
  EXPECT_EQ(psv::matrix::count_tiles(few, 32).tiles, 1u);
  EXPECT_EQ(psv::matrix::count_tiles(plan_of(9), 16).pairs, 16u * 16);
}

TEST(PsvDevicePlanner, TakesTheMatrixProductWhereItIsCheaper) {
  const DeviceRates h200 = gpu_rates(9, 0, 132, kH200Clock_hz), turing = gpu_rates(7, 5, 72, 1.5e9);
  const auto choose = [](const psv::matrix::MatrixPlan& plan, int n_plane, const DeviceRates& rates,
                         bool single = false) {
    return psv::planner::choose_on_device(work_of(plan, n_plane, single), plan, rates, {});
  };
  const auto large = choose(plan_of(64), 1, h200);
  EXPECT_TRUE(large.is_matrix) << large.reason;
  EXPECT_EQ(large.variant.unit, psv::matrix::MatrixUnitKind::kTensor);
  EXPECT_FALSE(choose(plan_of(64), 1, h200, true).is_matrix)
      << "TF32 takes three products, the direct sum is nearly free";
  EXPECT_TRUE(choose(plan_of(64, true), 8, h200).is_matrix) << "Jones terms are free";
  EXPECT_FALSE(choose(plan_of(3), 1, h200).is_matrix) << "a tile for three baselines";
  EXPECT_FALSE(choose(plan_of(64), 4, turing).is_matrix) << "no matrix units for doubles";
  psv::matrix::MatrixPlan smeared = plan_of(64);
  smeared.n_time_node = smeared.n_frequency_node = 4;
  const auto small = choose(smeared, 1, h200);
  EXPECT_FALSE(small.is_matrix) << "sixteen terms for each source";
  EXPECT_NE(small.reason.find("4 x 4 smearing nodes"), std::string::npos);
  psv::matrix::MatrixPlan impossible;
  impossible.obstacle = "for a reason";
  EXPECT_NE(choose(impossible, 1, h200).reason.find("for a reason"), std::string::npos);
}

TEST(PsvDevicePlanner, WhatWasMeasuredDecides) {
  const DeviceRates h200 = gpu_rates(9, 0, 132, kH200Clock_hz);
  const psv::matrix::MatrixPlan plan = plan_of(64);
  psv::planner::DeviceTuning tuning;
  tuning.matrix[0] = {psv::matrix::kMatrixVariants[2], 0.05, true};
  EXPECT_FALSE(psv::planner::choose_on_device(work_of(plan, 1), plan, h200, tuning).is_matrix);
  tuning.matrix[0].efficiency = 0.9;
  const auto choice = psv::planner::choose_on_device(work_of(plan, 1), plan, h200, tuning);
  EXPECT_TRUE(choice.is_matrix);
  EXPECT_EQ(choice.variant, psv::matrix::kMatrixVariants[2]);
  EXPECT_NE(choice.reason.find("measured"), std::string::npos);
}

/// A cache folder of its own.
class PsvTuning : public ::testing::Test {
 protected:
  PsvTuning() {
    folder_ = std::filesystem::temp_directory_path() / ("rimetree_tuning_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    psv::planner::forget_tuning();
  }
  ~PsvTuning() override {
    ::unsetenv("XDG_CACHE_HOME");
    psv::planner::forget_tuning();
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& text) {
    std::filesystem::create_directories(folder_ / "rimetree");
    std::ofstream(tuning_path()) << text;
    psv::planner::forget_tuning();
  }
  std::filesystem::path folder_;
};

TEST_F(PsvTuning, IsStoredByTypeOfDeviceAndReadAgain) {
  EXPECT_FALSE(psv::planner::tuning_of("NVIDIA H200 (cuda:0)").direct[0].measured) << "there is no file yet";
  psv::planner::DeviceTuning tuning;
  tuning.direct[0] = {PhasorsOf::kRows, 0.625, true};
  tuning.matrix[1] = {psv::matrix::kMatrixVariants[3], 0.375, true};
  psv::planner::store_tuning("NVIDIA H200 (cuda:0)", tuning);
  tuning.direct[0].phasors = PhasorsOf::kAntennas;
  psv::planner::store_tuning("A \"quoted\" card", tuning);
  psv::planner::forget_tuning();
  std::string warning;
  const psv::planner::DeviceTuning read = psv::planner::tuning_of("NVIDIA H200 (cuda:3)", &warning);
  EXPECT_EQ(warning, "");
  EXPECT_EQ(read.direct[0].phasors, PhasorsOf::kRows);
  EXPECT_EQ(read.direct[0].efficiency, 0.625);
  EXPECT_FALSE(read.direct[1].measured);
  EXPECT_EQ(read.matrix[1].variant, psv::matrix::kMatrixVariants[3]);
  EXPECT_FALSE(read.matrix[0].variant);
  EXPECT_EQ(psv::planner::tuning_of("A \"quoted\" card").direct[0].phasors, PhasorsOf::kAntennas);
  EXPECT_FALSE(psv::planner::tuning_of("another").direct[0].measured);
}

TEST_F(PsvTuning, FilesThatMakeNoSenseAreIgnoredWithAWarning) {
  const std::string devices = R"({"format": 1, "devices": {"simulated device": )";
  for (const std::string& text :
       {std::string("not JSON"), std::string(""), std::string(R"({"format": 2, "devices": {}})"),
        devices + R"({"direct double": {"phasors": "wood", "efficiency": 0.5}}}})",
        devices + R"({"direct double": {"phasors": "rows", "efficiency": -1}}}})",
        devices + R"({"direct double": {"phasors": "rows"}}}})",
        devices + R"({"matrix single": {"unit": "tensor", "tile": 8, "warps": 4, "efficiency": 0.5}}}})",
        devices + R"({"matrix single": {"unit": "wood", "tile": 16, "warps": 4, "efficiency": 0.5}}}})"}) {
    write(text);
    std::string warning;
    EXPECT_FALSE(psv::planner::tuning_of("simulated device", &warning).direct[0].measured);
    EXPECT_NE(warning.find("is not used"), std::string::npos) << text;
    EXPECT_NE(warning.find("bench tune"), std::string::npos);
  }
}

TEST_F(PsvTuning, TunedVariantsAreTakenAndGiveTheSameVisibilities) {
  Cancellation cancellation;
  const TuningReport report = tune_device("simulated", 0, cancellation);
  EXPECT_EQ(report.path, tuning_path());
  ASSERT_TRUE(std::filesystem::exists(report.path));
  EXPECT_EQ(report.variants.size(), 2 * (2 + std::size(psv::matrix::kMatrixVariants)));
  EXPECT_EQ(std::count_if(report.variants.begin(), report.variants.end(), [](const auto& v) { return v.is_best; }), 4);
  for (const TunedVariant& one : report.variants) EXPECT_GT(one.rate, 0) << one.kernel << " " << one.variant;
  const psv::planner::DeviceTuning tuning = psv::planner::tuning_of("simulated device");
  for (int single = 0; single < 2; ++single)
    EXPECT_TRUE(tuning.direct[single].measured && tuning.matrix[single].measured);
  // Whatever was the fastest is used from now on.
  CaseOptions o;
  o.polarisation = Polarisation::kFull;
  const ArrayCase c(o, {.n_antenna = 6});
  const auto expected = c.expected();
  for (const bool single : {false, true}) {
    Devices devices;
    EXPECT_LT(largest_error(devices.solve(c, single, {}, c.ends), expected, c.total_flux()), single ? 1e-6 : 1e-12);
    EXPECT_NE(devices.report.find("measured by bench tune"), std::string::npos) << devices.report;
  }
}

TEST(PsvDevicePlanner, UnpolarisedSkiesAreExpectedToTakeLess) {
  const Devices devices;
  const auto expected = [&](bool unpolarised) {
    psv::planner::Outlook outlook;
    outlook.n_source = 1000, outlook.unpolarised = unpolarised;
    const std::string text = psv::planner::expected_on_devices(devices.contexts, outlook, 2016, 64, false);
    const std::size_t at = text.find("direct: about ");
    return at == std::string::npos ? std::nan("") : std::atof(text.c_str() + at + std::strlen("direct: about "));
  };
  EXPECT_GT(expected(true), 0);
  EXPECT_LT(expected(true), 0.7 * expected(false));
}

TEST(PsvTuningDevices, ThereMustBeSuchADevice) {
  Cancellation cancellation;
  EXPECT_THROW(tune_device("cuda:77", 0, cancellation), Error);
  EXPECT_THROW(tune_device("none", 0, cancellation), Error);
}

}  // namespace
}  // namespace rimetree::testing
