// Blocks of results on a device: copied to the host once and together, spilled and brought back, let go of with the
// last slice.
#include "memory/device_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "memory/simulated_device.h"

namespace rimetree {
namespace {

using memory::DeviceBlock;
using memory::DeviceSlice;
using memory::OutOfMemory;

constexpr std::size_t kBlockBytes = 64 * sizeof(double);

struct Source final : memory::BlockSource {
  explicit Source(std::size_t budget) : resident(*queue, budget) {}
  memory::ResidentArrays& arrays() override { return resident; }
  memory::StagingPool& staging() override { return pool; }
  memory::SimulatedDevice device{1 << 20};
  memory::StagingPool pool{device};
  std::unique_ptr<memory::Queue> queue = device.make_queue();
  memory::ResidentArrays resident;
};

/// A block of 64 numbers from `first` on.
std::shared_ptr<DeviceBlock> block_of(const std::shared_ptr<Source>& source, double first) {
  auto block = std::make_shared<DeviceBlock>(source, kBlockBytes);
  source->queue->run([source, first, d_data = block->on_device().data()] {
    auto* values = static_cast<double*>(source->device.resolve(d_data, kBlockBytes));
    for (int i = 0; i < 64; ++i) values[i] = first + i;
  });
  return block;
}
std::shared_ptr<const DeviceSlice> slice_of(const std::shared_ptr<DeviceBlock>& block, std::size_t first,
                                            std::size_t count) {
  return std::make_shared<const DeviceSlice>(block, first * sizeof(double), count * sizeof(double));
}
double number(const DeviceSlice& slice, std::size_t i) { return static_cast<const double*>(slice.host().get())[i]; }

TEST(DeviceBlock, ASliceIsCopiedToTheHostOnce) {
  const auto source = std::make_shared<Source>(10 * kBlockBytes);
  const auto slice = slice_of(block_of(source, 100), 8, 4);
  EXPECT_FALSE(slice->has_host_copy());
  EXPECT_EQ(source->device.statistics().bytes_to_host, 0u);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(number(*slice, 3), 111);
  EXPECT_TRUE(slice->has_host_copy());
  EXPECT_EQ(source->device.statistics().bytes_to_host, 4 * sizeof(double));
}

TEST(DeviceBlock, NeighboursComeByOneCopyAndOthersStay) {
  const auto source = std::make_shared<Source>(10 * kBlockBytes);
  const auto block = block_of(source, 0);
  const auto a = slice_of(block, 0, 8), b = slice_of(block, 8, 8), far = slice_of(block, 48, 8),
             other = slice_of(block_of(source, 1000), 0, 2), alone = slice_of(block, 20, 4);
  const DeviceSlice* const wanted[] = {far.get(), b.get(), other.get(), a.get(), b.get()};
  const std::size_t staging_before = source->device.allocations_tried();
  DeviceSlice::fetch(wanted);
  EXPECT_EQ(source->device.allocations_tried() - staging_before, 3u) << "one piece of staging memory for each copy";
  EXPECT_EQ(source->device.statistics().bytes_to_host, (8 + 8 + 8 + 2) * sizeof(double));
  EXPECT_FALSE(alone->has_host_copy());
  EXPECT_EQ(number(*a, 7), 7);
  EXPECT_EQ(number(*b, 0), 8);
  EXPECT_EQ(number(*far, 7), 55);
  EXPECT_EQ(number(*other, 1), 1001);
  EXPECT_EQ(static_cast<const double*>(b->host().get()), static_cast<const double*>(a->host().get()) + 8);
}

TEST(DeviceBlock, ManyThreadsGetTheSameCopy) {
  const auto source = std::make_shared<Source>(10 * kBlockBytes);
  const auto block = block_of(source, 0);
  const auto slice = slice_of(block, 0, 64);
  std::vector<const void*> seen(8);
  std::vector<std::thread> threads;
  for (auto& one : seen) threads.emplace_back([&one, &slice] { one = slice->host().get(); });
  for (std::thread& thread : threads) thread.join();
  for (const void* one : seen) EXPECT_EQ(one, seen[0]);
  EXPECT_EQ(source->device.statistics().bytes_to_host, kBlockBytes);
}

TEST(DeviceBlock, WhereThereIsNoRoomItGoesToTheHostAndComesBack) {
  const auto source = std::make_shared<Source>(2 * kBlockBytes);
  const auto first = block_of(source, 0), second = block_of(source, 100), third = block_of(source, 200);
  EXPECT_EQ(source->resident.statistics().spills, 1u);
  EXPECT_EQ(number(*slice_of(first, 8, 8), 1), 9) << "from where it was saved";
  EXPECT_TRUE(first->on_device());
  EXPECT_EQ(number(*slice_of(first, 0, 64), 63), 63);
  EXPECT_EQ(number(*slice_of(second, 0, 64), 63), 163);
  EXPECT_EQ(number(*slice_of(third, 0, 64), 63), 263);
  const auto a = first->on_device(), b = second->on_device();
  EXPECT_THROW(third->on_device(), OutOfMemory) << "what is in use stays";
  EXPECT_THROW(DeviceBlock(source, kBlockBytes), OutOfMemory);
}

TEST(DeviceBlock, GoesWithItsLastSliceHoweverLateThatIs) {
  auto source = std::make_shared<Source>(10 * kBlockBytes);
  const std::weak_ptr<Source> watched = source;
  auto slice = slice_of(block_of(source, 5), 0, 64);
  EXPECT_EQ(source->resident.statistics().resident_bytes, kBlockBytes);
  const std::shared_ptr<void> copy = slice->host();
  slice = slice_of(block_of(source, 7), 0, 64);
  EXPECT_EQ(source->resident.statistics().resident_bytes, kBlockBytes) << "the first is gone";
  source->queue->synchronize();
  source = nullptr;
  EXPECT_EQ(number(*slice, 0), 7) << "the device is still there for it";
  slice = nullptr;
  EXPECT_EQ(static_cast<const double*>(copy.get())[0], 5) << "and for a copy in its staging memory";
  EXPECT_FALSE(watched.expired());
}

TEST(DeviceBlock, WithoutStagingMemoryItIsCopiedAllTheSame) {
  const auto source = std::make_shared<Source>(10 * kBlockBytes);
  const auto slice = slice_of(block_of(source, 3), 0, 64);
  source->device.fail_allocations(1, 1000);
  EXPECT_EQ(number(*slice, 1), 4);
}

TEST(ResidentArrays, WhatIsNotThereCannotBeRead) {
  const auto source = std::make_shared<Source>(10 * kBlockBytes);
  std::vector<std::byte> target(kBlockBytes);
  EXPECT_THROW(source->resident.read({1, 1}, 0, target), std::out_of_range);
  source->resident.make({1, 1}, kBlockBytes);
  EXPECT_THROW(source->resident.read({1, 2}, 0, target), std::out_of_range);
  EXPECT_THROW(source->resident.read({1, 1}, 8, target), std::out_of_range);
  source->resident.drop(1);
  EXPECT_THROW(source->resident.read({1, 1}, 0, target), std::out_of_range);
  source->resident.drop(1);
}

}  // namespace
}  // namespace rimetree
