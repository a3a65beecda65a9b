// Arrays that stay on a device: what is copied when, what goes first, and what happens where an allocation fails.
#include "memory/resident_arrays.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "memory/simulated_device.h"

namespace rimetree {
namespace {

using memory::ArrayKey;
using memory::OutOfMemory;
using memory::ResidentArrays;

constexpr std::size_t kBytes = 100 * sizeof(double);

std::vector<double> values(double first) {
  std::vector<double> v(100);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = first + double(i);
  return v;
}

struct ResidentArraysTest : ::testing::Test {
  memory::SimulatedDevice device{1 << 20};
  std::unique_ptr<memory::Queue> queue = device.make_queue();
  std::optional<ResidentArrays> arrays;

  explicit ResidentArraysTest(std::size_t budget_arrays = 3) { arrays.emplace(*queue, budget_arrays * kBytes); }
  ResidentArrays::Handle get(std::uint64_t owner, std::uint64_t version, double first) {
    const std::vector<double> source = values(first);
    return arrays->get({owner, version}, std::span<const double>(source));
  }
  double first_of(const ResidentArrays::Handle& handle) {
    std::vector<double> back(100);
    arrays->download(handle, std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back[99], back[0] + 99);
    return back[0];
  }
  std::uint64_t bytes_up() const { return device.statistics().bytes_to_device; }
};

TEST_F(ResidentArraysTest, AnArrayIsCopiedOnceForEachVersion) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first_of(get(1, 1, 10)), 10);
  EXPECT_EQ(bytes_up(), kBytes);
  EXPECT_EQ(arrays->statistics().hits, 99u);
  EXPECT_EQ(first_of(get(1, 2, 20)), 20);
  EXPECT_EQ(bytes_up(), 2 * kBytes);
  EXPECT_EQ(first_of(get(1, 1, 10)), 10) << "the older version is no longer there";
  EXPECT_EQ(arrays->statistics().uploads, 3u);
  EXPECT_EQ(arrays->statistics().resident_bytes, kBytes);
}

TEST_F(ResidentArraysTest, WhatIsThereCanBeHadWithoutTheHostsValues) {
  EXPECT_FALSE(arrays->get_if_there({1, 1}));
  get(1, 1, 10);
  EXPECT_EQ(first_of(arrays->get_if_there({1, 1})), 10);
  EXPECT_FALSE(arrays->get_if_there({1, 2}));
  EXPECT_EQ(bytes_up(), kBytes);
}

TEST_F(ResidentArraysTest, AVersionInUseOutlivesTheNext) {
  const auto old = get(1, 1, 10);
  const auto fresh = get(1, 2, 20);
  EXPECT_EQ(first_of(old), 10);
  EXPECT_EQ(first_of(fresh), 20);
  EXPECT_EQ(arrays->statistics().resident_bytes, 2 * kBytes);
}

TEST_F(ResidentArraysTest, TheLongestUnusedGoesFirst) {
  for (const std::uint64_t owner : {1, 2, 3}) get(owner, 1, double(owner));
  get(1, 1, 1);
  get(4, 1, 4);
  EXPECT_EQ(arrays->statistics().evictions, 1u);
  const auto before = bytes_up();
  get(1, 1, 1), get(3, 1, 3), get(4, 1, 4);
  EXPECT_EQ(bytes_up(), before);
  get(2, 1, 2);
  EXPECT_EQ(bytes_up(), before + kBytes);
}

TEST_F(ResidentArraysTest, CleanArraysGoBeforeDirtyOnesAndThoseAreSaved) {
  {
    const auto made = arrays->make({7, 1}, kBytes);
    const std::vector<double> content = values(70);
    queue->run(
        [&] { std::copy(content.begin(), content.end(), static_cast<double*>(device.resolve(made.data(), kBytes))); });
    queue->synchronize();
  }
  get(1, 1, 1), get(2, 1, 2);
  get(3, 1, 3);
  EXPECT_EQ(arrays->statistics().spills, 0u) << "the dirty one is older, but a clean one went";
  {
    const auto a = get(1, 1, 1), b = get(2, 1, 2), c = get(3, 1, 3);
    EXPECT_EQ(arrays->statistics().spills, 1u);
    EXPECT_THROW(arrays->find({7, 1}), OutOfMemory) << "all room is in use";
  }
  EXPECT_EQ(first_of(arrays->find({7, 1})), 70);
  EXPECT_FALSE(arrays->find({7, 2}));
  EXPECT_FALSE(arrays->find({8, 1}));
  EXPECT_LE(arrays->statistics().peak_bytes, 3 * kBytes);
}

TEST_F(ResidentArraysTest, WhatIsInUseStays) {
  const auto a = get(1, 1, 1), b = get(2, 1, 2), c = get(3, 1, 3);
  EXPECT_THROW(get(4, 1, 4), OutOfMemory);
  EXPECT_THROW(arrays->scratch(1), OutOfMemory);
  EXPECT_EQ(first_of(a), 1);
  EXPECT_EQ(arrays->statistics().evictions, 0u);
}

TEST_F(ResidentArraysTest, ScratchGoesWithItsHandle) {
  for (int i = 0; i < 10; ++i) {
    const auto scratch = arrays->scratch(3 * kBytes);
    EXPECT_EQ(arrays->statistics().resident_bytes, 3 * kBytes);
  }
  EXPECT_EQ(arrays->statistics().resident_bytes, 0u);
  EXPECT_THROW(arrays->scratch(3 * kBytes + 1), OutOfMemory);
}

TEST_F(ResidentArraysTest, NothingIsLeftBehind) {
  get(1, 1, 1);
  arrays->make({2, 1}, kBytes);
  {
    const auto held = get(3, 1, 3);
    arrays->clear();
    EXPECT_TRUE(arrays->find({2, 1})) << "of what is dirty there is no other copy";
    arrays->drop(2);
    EXPECT_EQ(arrays->statistics().resident_bytes, kBytes);
  }
  arrays.reset();
  queue->synchronize();
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
}

// The same work with every single allocation failing in turn, and with the device full for a while.
TEST_F(ResidentArraysTest, AnyAllocationMayFail) {
  const auto work = [](ResidentArrays& all) {
    for (std::uint64_t round = 1; round < 4; ++round)
      for (std::uint64_t owner = 1; owner < 6; ++owner) {
        const std::vector<double> source = values(double(owner * round));
        const auto handle = all.get({owner, round / 2}, std::span<const double>(source));
        const auto scratch = all.scratch(kBytes);
        const auto made = all.make({owner + 10, round}, kBytes / 2);
      }
  };
  std::size_t n_allocation = 0;
  {
    memory::SimulatedDevice whole(1 << 20);
    const auto q = whole.make_queue();
    ResidentArrays all(*q, 4 * kBytes);
    work(all);
    n_allocation = whole.allocations_tried();
  }
  ASSERT_GT(n_allocation, 20u);
  std::size_t told = 0;
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {1, 3, 1000}) {
      memory::SimulatedDevice failing(1 << 20);
      const auto q = failing.make_queue();
      {
        ResidentArrays all(*q, 4 * kBytes);
        failing.fail_allocations(n, count);
        try {
          work(all);
        } catch (const OutOfMemory&) {
          ++told;
        }
        failing.fail_allocations(0, 0);
        work(all);  // and all is well again
        EXPECT_LE(all.statistics().peak_bytes, 4 * kBytes);
      }
      q->synchronize();
      EXPECT_EQ(failing.statistics().bytes_in_use, 0u);
    }
  EXPECT_GT(told, n_allocation) << "a device that stays full cannot be worked around";
}

}  // namespace
}  // namespace rimetree
