// The host as a device: alignment, bookkeeping, failure.
#include "memory/host_device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

// A sanitizer would otherwise abort on the allocations that are meant to fail here.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace rimetree {
namespace {

using memory::HostDevice;

TEST(HostDevice, EveryAllocationIsAligned) {
  HostDevice device;
  for (const std::size_t bytes : {0u, 1u, 127u, 128u, 129u, 100000u}) {
    void* data = device.allocate(bytes);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % memory::Device::kAlignment, 0u) << bytes;
    std::memset(data, 1, bytes);  // all of it is ours
    device.deallocate(data, bytes);
  }
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
  EXPECT_EQ(device.statistics().allocations, 6u);
}

TEST(HostDevice, CountsWhatItCopies) {
  HostDevice device;
  const char text[] = "abcdefgh";
  char back[9] = {};
  auto* data = static_cast<char*>(device.allocate(9));
  device.copy_to_device(data, text, 9);
  device.copy_within(data + 2, data, 4);  // overlapping on purpose
  device.copy_to_host(back, data, 8);
  EXPECT_EQ(std::string(back, 8), "ababcdgh");
  const auto statistics = device.statistics();
  EXPECT_EQ(statistics.bytes_to_device, 9u);
  EXPECT_EQ(statistics.bytes_within, 4u);
  EXPECT_EQ(statistics.bytes_to_host, 8u);
  device.deallocate(data, 9);
}

TEST(HostDevice, CopyingNothingTakesNullPointers) {
  HostDevice device;
  device.copy_to_device(nullptr, nullptr, 0);
  device.copy_within(nullptr, nullptr, 0);
  device.copy_to_host(nullptr, nullptr, 0);
  device.deallocate(nullptr, 0);
  EXPECT_EQ(device.statistics().bytes_to_device, 0u);
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
}

TEST(HostDevice, WhatCannotBeHadIsOutOfMemoryAndCountsForNothing) {
  HostDevice device;
  for (const std::size_t bytes : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 62}) {
    try {
      device.allocate(bytes);
      FAIL() << "got " << bytes << " bytes";
    } catch (const memory::OutOfMemory& error) {
      EXPECT_NE(std::string(error.what()).find("host"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(device.statistics().allocations, 0u);
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
}

TEST(HostDevice, StatisticsAddUpAcrossThreads) {
  HostDevice device;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) device.deallocate(device.allocate(64), 64);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(device.statistics().allocations, 2000u);
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
  EXPECT_LE(device.statistics().peak_bytes, 4u * 64u);
  EXPECT_GE(device.statistics().peak_bytes, 64u);
}

TEST(HostDevice, TheHostOfThisProcessIsOne) { EXPECT_EQ(&memory::host(), &memory::host()); }

}  // namespace
}  // namespace rimetree
