// The simulated device: an address space of its own, poison, byte counts, failures on demand.
#include "memory/simulated_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace rimetree {
namespace {

using memory::OutOfMemory;
using memory::SimulatedDevice;

char* bytes_of(void* data) { return static_cast<char*>(data); }

TEST(SimulatedDevice, FreshMemoryIsPoisonedAndReadsAsNaN) {
  SimulatedDevice device(1 << 16);
  void* data = device.allocate(64);
  std::vector<unsigned char> back(64, 0);
  device.copy_to_host(back.data(), data, 64);
  for (const unsigned char byte : back) EXPECT_EQ(byte, SimulatedDevice::kPoison);
  double value;
  std::memcpy(&value, back.data(), sizeof value);
  EXPECT_TRUE(std::isnan(value));
  device.deallocate(data, 64);
}

TEST(SimulatedDevice, MemoryThatIsHandedOutAgainIsPoisonedAgain) {
  SimulatedDevice device(1 << 16);
  const std::vector<char> ones(64, 1);
  void* data = device.allocate(64);
  device.copy_to_device(data, ones.data(), 64);
  device.deallocate(data, 64);
  data = device.allocate(64);
  unsigned char back = 0;
  device.copy_to_host(&back, bytes_of(data) + 63, 1);
  EXPECT_EQ(back, SimulatedDevice::kPoison);
  device.deallocate(data, 64);
}

TEST(SimulatedDevice, AddressesAreNotTheHostsAndAligned) {
  SimulatedDevice device(1 << 16);
  EXPECT_FALSE(device.host_accessible());
  void* a = device.allocate(100);
  void* b = device.allocate(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % memory::Device::kAlignment, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b) % memory::Device::kAlignment, 0u);
  EXPECT_NE(device.resolve(a, 100), a) << "the host must not be able to use a device address";
  device.deallocate(a, 100);
  device.deallocate(b, 100);
}

TEST(SimulatedDevice, CountsEveryByteEachWay) {
  SimulatedDevice device(1 << 16);
  std::vector<char> values(1000, 7);
  void* a = device.allocate(1000);
  void* b = device.allocate(500);
  device.copy_to_device(a, values.data(), 1000);
  device.copy_to_device(a, values.data(), 1);
  device.copy_within(b, bytes_of(a) + 500, 500);
  device.copy_to_host(values.data(), b, 200);
  const auto statistics = device.statistics();
  EXPECT_EQ(statistics.bytes_to_device, 1001u);
  EXPECT_EQ(statistics.bytes_within, 500u);
  EXPECT_EQ(statistics.bytes_to_host, 200u);
  EXPECT_EQ(statistics.allocations, 2u);
  EXPECT_EQ(statistics.bytes_in_use, 1500u);
  device.deallocate(a, 1000);
  EXPECT_EQ(device.statistics().bytes_in_use, 500u);
  EXPECT_EQ(device.statistics().peak_bytes, 1500u);
  device.deallocate(b, 500);
}

TEST(SimulatedDevice, AccessOutsideAnAllocationIsCaughtAndNotCounted) {
  SimulatedDevice device(1 << 16);
  char host[256] = {};
  void* a = device.allocate(128);
  void* b = device.allocate(128);
  EXPECT_THROW(device.copy_to_device(a, host, 129), std::out_of_range) << "one byte past the end";
  EXPECT_THROW(device.copy_to_host(host, bytes_of(a) + 128, 1), std::out_of_range) << "right behind the end";
  EXPECT_THROW(device.copy_to_host(host, bytes_of(a) - 1, 2), std::out_of_range) << "before the beginning";
  EXPECT_THROW(device.copy_to_host(host, bytes_of(b) - 1, 1), std::out_of_range) << "in the gap";
  EXPECT_THROW(device.copy_within(a, host, 4), std::out_of_range) << "a host address";
  EXPECT_THROW(device.copy_to_host(host, nullptr, 1), std::out_of_range);
  device.copy_to_host(host, bytes_of(a) + 127, 1);
  EXPECT_EQ(device.statistics().bytes_to_host, 1u);
  EXPECT_EQ(device.statistics().bytes_to_device, 0u);
  device.deallocate(a, 128);
  EXPECT_THROW(device.copy_to_host(host, a, 1), std::out_of_range) << "after it was freed";
  device.deallocate(b, 128);
}

TEST(SimulatedDevice, ResolveFindsTheBytesACopyWrote) {
  SimulatedDevice device(1 << 16);
  const double values[3] = {1.5, 2.5, 3.5};
  void* data = device.allocate(sizeof values);
  device.copy_to_device(data, values, sizeof values);
  EXPECT_EQ(*static_cast<double*>(device.resolve(bytes_of(data) + 8, 8)), 2.5);
  *static_cast<double*>(device.resolve(data, 8)) = -1;  // a "kernel" writes
  double back = 0;
  device.copy_to_host(&back, data, 8);
  EXPECT_EQ(back, -1);
  EXPECT_THROW(device.resolve(data, sizeof values + 1), std::out_of_range);
  device.deallocate(data, sizeof values);
}

TEST(SimulatedDevice, TheNthAllocationFailsAndOnlyThat) {
  SimulatedDevice device(1 << 16);
  device.fail_allocation(3);
  void* a = device.allocate(8);
  void* b = device.allocate(8);
  EXPECT_THROW(device.allocate(8), OutOfMemory);
  void* c = device.allocate(8);
  EXPECT_EQ(device.statistics().allocations, 3u) << "a failed allocation does not count";
  device.fail_allocation(1);
  device.fail_allocation(0);  // never mind
  void* d = device.allocate(8);
  for (void* data : {a, b, c, d}) device.deallocate(data, 8);
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
}

TEST(SimulatedDevice, CapacityIsThatOfLiveMemory) {
  SimulatedDevice device(1000);
  void* a = device.allocate(600);
  EXPECT_THROW(device.allocate(401), OutOfMemory);
  void* b = device.allocate(400);
  EXPECT_THROW(device.allocate(1), OutOfMemory);
  device.deallocate(a, 600);
  void* c = device.allocate(600);
  EXPECT_THROW(device.allocate(static_cast<std::size_t>(-1)), OutOfMemory);
  device.deallocate(b, 400);
  device.deallocate(c, 600);
  EXPECT_EQ(device.statistics().peak_bytes, 1000u);
}

TEST(SimulatedDeviceDeathTest, DoubleFreeAndWrongSizeEndTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimulatedDevice device(1000);
  void* data = device.allocate(16);
  EXPECT_DEATH(device.deallocate(data, 8), "");
  device.deallocate(data, 16);
  EXPECT_DEATH(device.deallocate(data, 16), "");
  device.deallocate(nullptr, 0);
}

}  // namespace
}  // namespace rimetree
