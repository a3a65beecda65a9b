// Pool: memory is handed out again, and given back to the device when that runs out.
#include "memory/pool.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "memory/host_device.h"
#include "memory/simulated_device.h"

namespace rimetree {
namespace {

using memory::Pool;
using memory::SimulatedDevice;

TEST(Pool, ASecondRoundAllocatesNothing) {
  SimulatedDevice device(1 << 20);
  const auto pool = Pool::create(device);
  const std::size_t sizes[] = {8, 100, 1000, 5000, 5000, 64000};
  const auto round = [&] {
    std::vector<std::shared_ptr<void>> blocks;
    for (const std::size_t bytes : sizes) blocks.push_back(pool->allocate(bytes));
  };
  round();
  const auto allocations = device.statistics().allocations;
  EXPECT_EQ(allocations, 6u);
  for (int i = 0; i < 10; ++i) round();
  EXPECT_EQ(device.statistics().allocations, allocations);
}

TEST(Pool, BlocksInUseAreNeverHandedOutTwice) {
  SimulatedDevice device(1 << 20);
  const auto pool = Pool::create(device);
  auto a = pool->allocate(1000);
  auto b = pool->allocate(1000);
  EXPECT_NE(a.get(), b.get());
  const void* const first = a.get();
  a.reset();
  auto c = pool->allocate(1000);
  EXPECT_EQ(c.get(), first) << "the idle block is used again";
  EXPECT_NE(c.get(), b.get());
}

TEST(Pool, AtLeastTheBytesAskedForAndNotManyMore) {
  for (std::size_t bytes = 1; bytes < 5000; bytes += 7) {
    SimulatedDevice device(1 << 20);
    const auto block = Pool::create(device)->allocate(bytes);
    EXPECT_NO_THROW(device.resolve(block.get(), bytes)) << bytes;
    EXPECT_LE(device.statistics().bytes_in_use, std::max<std::size_t>(memory::Device::kAlignment, bytes * 5 / 4 + 1));
  }
}

TEST(Pool, SimilarSizesShareBlocks) {
  SimulatedDevice device(1 << 20);
  const auto pool = Pool::create(device);
  pool->allocate(1000).reset();
  EXPECT_EQ(pool->idle_bytes(), device.statistics().bytes_in_use);
  const auto block = pool->allocate(1020);  // both are in (896, 1024]
  EXPECT_EQ(device.statistics().allocations, 1u);
  EXPECT_EQ(pool->idle_bytes(), 0u);
}

TEST(Pool, TrimReturnsIdleBlocksAndNoOthers) {
  SimulatedDevice device(1 << 20);
  const auto pool = Pool::create(device);
  const auto used = pool->allocate(256);
  pool->allocate(4096).reset();
  EXPECT_EQ(pool->idle_bytes(), 4096u);
  pool->trim();
  EXPECT_EQ(pool->idle_bytes(), 0u);
  EXPECT_EQ(device.statistics().bytes_in_use, 256u);
  EXPECT_NO_THROW(device.resolve(used.get(), 256));
}

TEST(Pool, MakesRoomFromIdleBlocksBeforeItGivesUp) {
  SimulatedDevice device(10000);
  const auto pool = Pool::create(device);
  pool->allocate(6144).reset();  // idle now, of another size class than what follows
  const auto block = pool->allocate(8192);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(device.statistics().bytes_in_use, 8192u);
  EXPECT_THROW(pool->allocate(8192), memory::OutOfMemory);
}

TEST(Pool, OneFailureOfTheDeviceIsTriedAgain) {
  SimulatedDevice device(1 << 20);
  const auto pool = Pool::create(device);
  device.fail_allocation(1);
  EXPECT_NE(pool->allocate(100), nullptr);
}

TEST(Pool, AfterOutOfMemoryItStillWorks) {
  SimulatedDevice device(4096);
  const auto pool = Pool::create(device);
  auto block = pool->allocate(4096);
  EXPECT_THROW(pool->allocate(1), memory::OutOfMemory);
  block.reset();
  EXPECT_NE(pool->allocate(4096), nullptr);
}

TEST(Pool, SizesNearTheEndOfTheAddressSpaceDoNotWrapToSmallBlocks) {
  SimulatedDevice device(1 << 20);
  const auto pool = Pool::create(device);
  EXPECT_THROW(pool->allocate(std::numeric_limits<std::size_t>::max()), memory::OutOfMemory);
  EXPECT_THROW(pool->allocate(std::numeric_limits<std::size_t>::max() - (std::size_t{1} << 60)), memory::OutOfMemory);
  EXPECT_EQ(device.statistics().allocations, 0u);
}

TEST(Pool, BlocksOutliveThePoolsOwner) {
  SimulatedDevice device(1 << 20);
  std::shared_ptr<void> block;
  {
    const auto pool = Pool::create(device);
    block = pool->allocate(512);
    pool->allocate(128).reset();
  }
  EXPECT_NO_THROW(device.resolve(block.get(), 512));
  block.reset();
  EXPECT_EQ(device.statistics().bytes_in_use, 0u) << "the last block takes the pool and what was idle in it along";
}

TEST(Pool, IsSharedByThreads) {
  const auto pool = Pool::create(memory::host());
  std::vector<std::thread> threads;
  std::atomic<bool> spoiled{false};
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      for (int k = 0; k < 300; ++k) {
        const auto block = pool->allocate(256);
        auto* const values = static_cast<int*>(block.get());
        for (int i = 0; i < 64; ++i) values[i] = id;
        for (int i = 0; i < 64; ++i)
          if (values[i] != id) spoiled = true;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(spoiled) << "two threads held the same block";
  EXPECT_LE(pool->idle_bytes(), 4u * 256u);
}

}  // namespace
}  // namespace rimetree
