// Queues: order within one, waiting between two, and a simulated device that is as late as a device may be.
#include "memory/queue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "memory/host_device.h"
#include "memory/simulated_device.h"
#include "memory/staging.h"

namespace rimetree {
namespace {

using memory::OutOfMemory;
using memory::SimulatedDevice;

TEST(Queue, OfTheSimulatedDeviceDoesNothingBeforeSomebodyWaits) {
  SimulatedDevice device(1 << 16);
  const auto queue = device.make_queue();
  void* d = queue->allocate(8);
  double value = 1, back = 0;
  queue->copy_to_device(d, &value, sizeof value);
  value = 2;  // too early: the copy has not been made
  queue->copy_to_host(&back, d, sizeof back);
  EXPECT_TRUE(std::isnan(back)) << "and nobody takes it for what is there";
  queue->synchronize();
  EXPECT_EQ(back, 2);
  queue->deallocate(d, 8);
  EXPECT_EQ(device.statistics().bytes_in_use, 8u) << "memory is given back in its turn";
  queue->synchronize();
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
}

TEST(Queue, EventsAreReachedWithoutWhatComesAfterThem) {
  SimulatedDevice device(1 << 16);
  const auto queue = device.make_queue();
  int done = 0;
  queue->run([&] { done = 1; });
  const auto event = queue->record();
  queue->run([&] { done = 2; });
  event->wait();
  EXPECT_EQ(done, 1);
  event->wait();  // again changes nothing
  EXPECT_EQ(done, 1);
  queue->synchronize();
  EXPECT_EQ(done, 2);
}

TEST(Queue, OneWaitsForAnother) {
  SimulatedDevice device(1 << 16);
  const auto first = device.make_queue(), second = device.make_queue();
  std::vector<int> order;
  first->run([&] { order.push_back(1); });
  second->wait_for(first->record());
  second->run([&] { order.push_back(2); });
  second->synchronize();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Queue, AnEventOutlivesItsQueue) {
  SimulatedDevice device(1 << 16);
  bool done = false;
  memory::EventPtr event;
  {
    const auto queue = device.make_queue();
    queue->run([&] { done = true; });
    event = queue->record();
  }
  EXPECT_TRUE(done) << "a queue finishes what it was given";
  event->wait();
}

TEST(Queue, WhatGoesWrongIsToldToTheOneWhoWaits) {
  SimulatedDevice device(1 << 16);
  const auto queue = device.make_queue();
  bool after = false;
  char byte = 0;
  queue->copy_to_host(&byte, reinterpret_cast<void*>(8), 1);
  queue->run([&] { after = true; });
  EXPECT_THROW(queue->synchronize(), std::out_of_range);
  queue->synchronize();
  EXPECT_TRUE(after);
}

TEST(Queue, MemoryGivenBackInTheQueueIsThereForTheNext) {
  SimulatedDevice device(1000);
  const auto queue = device.make_queue();
  void* a = queue->allocate(800);
  queue->deallocate(a, 800);
  void* b = queue->allocate(800);
  queue->deallocate(b, 800);
  EXPECT_THROW(queue->allocate(1001), OutOfMemory);
}

TEST(Queue, MemoryGivenBackIsHandedOutAgainAtOnceAndPoisonedInItsTurn) {
  SimulatedDevice device(1 << 16);
  const auto queue = device.make_queue(), other = device.make_queue();
  const double one = 1;
  double before = 0, after = 0, too_late = 0, in_time = 0;
  void* d = queue->allocate(8);
  queue->copy_to_device(d, &one, 8);
  queue->copy_to_host(&before, d, 8);
  other->wait_for(queue->record());
  other->copy_to_host(&in_time, d, 8);
  queue->wait_for(other->record());
  other->copy_to_host(&too_late, d, 8);  // for which nobody waits
  queue->deallocate(d, 8);
  EXPECT_EQ(queue->allocate(8), d);
  queue->copy_to_host(&after, d, 8);
  queue->synchronize();
  other->synchronize();
  EXPECT_EQ(before, 1);
  EXPECT_EQ(in_time, 1);
  EXPECT_TRUE(std::isnan(after));
  EXPECT_TRUE(std::isnan(too_late));
  EXPECT_EQ(device.statistics().bytes_in_use, 8u);
  queue->deallocate(d, 8);
  queue->synchronize();
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
}

TEST(Queue, OthersMayRunAhead) {
  SimulatedDevice device(1 << 16, true);
  const auto queue = device.make_queue(), ahead = device.make_queue();
  const double one = 1;
  double unsafe = 0, safe = 0;
  char byte = 0;
  void* d = queue->allocate(8);
  queue->deallocate(d, 8);
  EXPECT_EQ(queue->allocate(8), d);
  ahead->copy_to_device(d, &one, 8);  // before it has been passed on
  queue->copy_to_host(&unsafe, d, 8);
  queue->synchronize();
  EXPECT_TRUE(std::isnan(unsafe));
  queue->deallocate(d, 8);
  EXPECT_EQ(queue->allocate(8), d);
  ahead->wait_for(queue->record());
  ahead->copy_to_device(d, &one, 8);
  queue->copy_to_host(&safe, d, 8);
  queue->synchronize();
  EXPECT_EQ(safe, 1);
  ahead->copy_to_host(&byte, reinterpret_cast<void*>(8), 1);
  EXPECT_THROW(ahead->synchronize(), std::out_of_range) << "what went wrong is told to the one who waits";
  queue->deallocate(d, 8);
}

TEST(Queue, ZeroesAndCopiesOnTheHostToo) {
  const auto queue = memory::host().make_queue();
  auto* d = static_cast<double*>(queue->allocate(2 * sizeof(double)));
  const double one = 1;
  queue->copy_to_device(d, &one, sizeof one);
  queue->zero(d + 1, sizeof(double));
  queue->run([&] { d[0] += 1; });
  double back[2];
  queue->copy_to_host(back, d, sizeof back);
  queue->record()->wait();
  EXPECT_EQ(back[0], 2);
  EXPECT_EQ(back[1], 0);
  queue->deallocate(d, 2 * sizeof(double));
}

TEST(Staging, CopiesOfAnySizeMayBeForgottenAtOnce) {
  SimulatedDevice device(std::size_t{1} << 26);
  const auto queue = device.make_queue();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8} << 20, (std::size_t{17} << 20) + 5}) {
    std::vector<std::byte> source(size), back(size);
    for (std::size_t i = 0; i < size; ++i) source[i] = std::byte(i * 7 + i / 1000);
    const std::vector<std::byte> expected = source;
    void* d = queue->allocate(size);
    memory::copy_staged(*queue, d, source);
    std::fill(source.begin(), source.end(), std::byte(0));
    queue->copy_to_host(back.data(), d, size);
    queue->synchronize();
    EXPECT_TRUE(back == expected) << size;
    queue->deallocate(d, size);
  }
}

TEST(Staging, IsDoneWithoutWhereThereIsNone) {
  const std::size_t size = std::size_t{20} << 20;
  for (const std::size_t nth : {1, 2}) {
    SimulatedDevice device(std::size_t{1} << 26);
    const auto queue = device.make_queue();
    std::vector<std::byte> source(size, std::byte(3)), back(size);
    void* d = queue->allocate(size);
    device.fail_allocation(nth);
    memory::copy_staged(*queue, d, source);
    std::fill(source.begin(), source.end(), std::byte(0));
    queue->copy_to_host(back.data(), d, size);
    queue->synchronize();
    EXPECT_TRUE(std::all_of(back.begin(), back.end(), [](std::byte b) { return b == std::byte(3); }));
    queue->deallocate(d, size);
  }
}

}  // namespace
}  // namespace rimetree
