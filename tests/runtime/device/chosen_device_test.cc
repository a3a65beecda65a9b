// Memory, queues and blocks of the device that RIMETREE_DEVICE names: what a GPU's runtime has to do for everything
// else.
#include "tests/support/chosen_device.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <thread>

#include "memory/staging.h"
#include "tests/support/device_buffer.h"

namespace rimetree::test {
namespace {

std::vector<std::uint64_t> numbers(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values(n);
  for (std::uint64_t& value : values) value = random();
  return values;
}

TEST(ChosenDevice, CopiesAtOnce) {
  const auto device = memory::open_device(chosen_device());
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
    const auto values = numbers(n, n);
    const DeviceBuffer<std::uint64_t> first(*device, std::span<const std::uint64_t>(values));
    DeviceBuffer<std::uint64_t> second(*device, n);
    device->copy_within(second.data(), first.data(), first.bytes());
    EXPECT_EQ(second.to_host(), values);
  }
  EXPECT_EQ(device->statistics().bytes_in_use, 0u);
}

TEST(ChosenDevice, TellsThatThereIsNoRoomAndGoesOn) {
  const auto device = memory::open_device(chosen_device());
  const auto queue = device->make_queue();
  const std::size_t too_much = 2 * device->free_bytes() + (std::size_t{1} << 20);
  const auto values = numbers(1000, 1);
  for (int k = 0; k < 2; ++k) {
    EXPECT_THROW(device->allocate(too_much), memory::OutOfMemory);
    EXPECT_THROW(queue->allocate(too_much), memory::OutOfMemory);
    const DeviceBuffer<std::uint64_t> there(*device, std::span<const std::uint64_t>(values));
    EXPECT_EQ(there.to_host(), values);
  }
}

TEST(ChosenDevice, QueuesKeepTheirOrderAndWaitForEachOther) {
  const auto device = memory::open_device(chosen_device());
  const auto first = device->make_queue(), second = device->make_queue();
  // Large enough to be on their way for a while; memory goes from queue to queue, and back to the pool in between.
  constexpr std::size_t n = std::size_t{1} << 18, bytes = n * sizeof(std::uint64_t);
  constexpr int kRounds = 40;
  memory::Staging<std::uint64_t> up(*device, kRounds * n), down(*device, kRounds * n), zeros(*device, n);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = i * 0x9e3779b97f4a7c15u;
  for (std::size_t k = 0; k < kRounds; ++k) {
    memory::Queue &from = k % 2 == 0 ? *first : *second, &to = k % 2 == 0 ? *second : *first;
    void* d_data = from.allocate(bytes);
    from.zero(d_data, bytes);
    from.copy_to_host(zeros.data(), d_data, bytes);
    from.copy_to_device(d_data, up.data() + k * n, bytes);
    to.wait_for(from.record());
    to.copy_to_host(down.data() + k * n, d_data, bytes);
    to.deallocate(d_data, bytes);
  }
  first->record()->wait();
  second->synchronize();
  first->synchronize();
  EXPECT_TRUE(std::equal(up.data(), up.data() + up.size(), down.data()));
  EXPECT_EQ(std::count(zeros.data(), zeros.data() + n, 0u), std::ptrdiff_t(n));
  EXPECT_EQ(device->statistics().bytes_in_use, 0u);
  EXPECT_EQ(device->statistics().bytes_to_host, 2 * kRounds * bytes);
  EXPECT_GT(device->statistics().copy_seconds, 0);
}

TEST(ChosenDevice, CountsTheTimeOfMoreCopiesThanAreTimedTogether) {
  const auto device = memory::open_device(chosen_device());
  const auto queue = device->make_queue();
  auto* d_data = static_cast<std::uint64_t*>(queue->allocate(sizeof(std::uint64_t) * 3000));
  const auto values = numbers(3000, 2);
  std::vector<std::uint64_t> back(3000);
  for (std::size_t i = 0; i < 3000; ++i) queue->copy_to_device(d_data + i, &values[i], sizeof values[i]);
  queue->copy_to_host(back.data(), d_data, back.size() * sizeof back[0]);
  queue->synchronize();
  EXPECT_EQ(back, values);
  queue->deallocate(d_data, sizeof(std::uint64_t) * 3000);
}

TEST(ChosenDevice, StagedCopiesMayBeForgottenAtOnce) {
  const auto device = memory::open_device(chosen_device());
  const auto queue = device->make_queue();
  for (const std::size_t n : {std::size_t{1}, std::size_t{1} << 20, (std::size_t{17} << 17) + 5}) {
    auto source = numbers(n, n);
    const auto expected = source;
    void* d_data = queue->allocate(n * sizeof source[0]);
    memory::copy_staged(*queue, d_data, std::as_bytes(std::span<const std::uint64_t>(source)));
    std::fill(source.begin(), source.end(), 0);
    queue->copy_to_host(source.data(), d_data, n * sizeof source[0]);
    queue->synchronize();
    EXPECT_TRUE(source == expected) << n;
    queue->deallocate(d_data, n * sizeof source[0]);
  }
}

TEST(ChosenDevice, ThreadsReadBlocksWhileOthersAreMadeSavedAndBroughtBack) {
  constexpr std::size_t n = 5000, bytes = n * sizeof(std::uint64_t), kBlocks = 12;
  DeviceContext context(memory::open_device(chosen_device()), 5 * bytes);
  std::vector<std::vector<std::uint64_t>> values;
  std::vector<std::shared_ptr<const memory::DeviceSlice>> slices;
  std::vector<std::thread> readers;
  std::atomic<int> n_wrong = 0;
  for (std::size_t k = 0; k < kBlocks; ++k) values.push_back(numbers(n, k));
  for (std::size_t k = 0; k < kBlocks; ++k) {
    const auto block = context.make_block(bytes);
    context.compute().copy_to_device(block->on_device().data(), values[k].data(), bytes);
    slices.push_back(std::make_shared<memory::DeviceSlice>(block, 8, bytes - 8));
    readers.emplace_back([&n_wrong, slice = slices.back(), &expected = values[k]] {
      n_wrong += std::memcmp(slice->host().get(), expected.data() + 1, (n - 1) * sizeof expected[0]) != 0;
    });
    if (k >= 4) slices[k - 4]->block().on_device();
    context.compute().synchronize();
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(n_wrong, 0);
  EXPECT_GT(context.arrays().statistics().spills, 0u);
  EXPECT_LE(context.arrays().statistics().peak_bytes, 5 * bytes);
}

}  // namespace
}  // namespace rimetree::test
