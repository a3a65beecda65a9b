// ThreadPool and Cancellation: every index once, exceptions, stopping, and many loops after each other.
#include "runtime/core/threads/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "runtime/core/error.h"

namespace rimetree {
namespace {

class ThreadPoolOf : public ::testing::TestWithParam<int> {
 protected:
  ThreadPool pool{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, testing::Values(1, 2, 4, 9));

TEST_P(ThreadPoolOf, HasAsManySlotsAsAskedFor) { EXPECT_EQ(pool.size(), GetParam()); }

TEST_P(ThreadPoolOf, CallsEveryIndexOnceInRangesOfTheGrain) {
  for (const std::size_t n : {0u, 1u, 2u, 3u, 7u, 64u, 1000u})
    for (const std::size_t grain : {0u, 1u, 3u, 64u, 5000u}) {
      std::vector<std::atomic<int>> calls(n);
      std::atomic<bool> in_order{true};
      pool.parallel_for(n, grain, [&](std::size_t begin, std::size_t end, int worker) {
        if (begin >= end || end > n || end - begin > std::max<std::size_t>(grain, 1) || worker < 0 ||
            worker >= pool.size())
          in_order = false;
        for (std::size_t i = begin; i < std::min(end, n); ++i) ++calls[i];
      });
      EXPECT_TRUE(in_order) << n << " by " << grain;
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(calls[i], 1) << i << " of " << n << " by " << grain;
    }
}

TEST_P(ThreadPoolOf, WorkerSlotsAreNotSharedWhileInUse) {
  std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(pool.size()));
  std::atomic<bool> shared{false};
  pool.parallel_for(2000, 1, [&](std::size_t, std::size_t, int worker) {
    if (busy[static_cast<std::size_t>(worker)].exchange(true)) shared = true;
    busy[static_cast<std::size_t>(worker)] = false;
  });
  EXPECT_FALSE(shared) << "scratch space of a slot would be overwritten";
}

TEST_P(ThreadPoolOf, AnExceptionComesBackAndStopsTheLoop) {
  std::atomic<int> calls{0};
  try {
    pool.parallel_for(100000, 1, [&](std::size_t begin, std::size_t, int) {
      ++calls;
      if (begin == 10) throw std::runtime_error("index ten");
      // The thrower may be off its core for a while: the others must not be through before it is back.
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "index ten");
  }
  EXPECT_GE(calls, 1);
  EXPECT_LT(calls, 100000);
}

TEST_P(ThreadPoolOf, WhereAllThrowOneComesBack) {
  EXPECT_THROW(pool.parallel_for(100, 1, [](std::size_t, std::size_t, int) { throw 42; }), int);
}

TEST_P(ThreadPoolOf, NobodyIsInsideTheLoopAfterAnException) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> inside{0};
    EXPECT_THROW(pool.parallel_for(64, 1,
                                   [&](std::size_t begin, std::size_t, int) {
                                     ++inside;
                                     std::this_thread::yield();
                                     --inside;
                                     if (begin == 3) throw std::logic_error("three");
                                   }),
                 std::logic_error);
    ASSERT_EQ(inside, 0);
  }
}

TEST_P(ThreadPoolOf, CancellationStopsAndIsThrown) {
  Cancellation cancellation;
  std::atomic<int> calls{0};
  EXPECT_THROW(pool.parallel_for(
                   100000, 1,
                   [&](std::size_t, std::size_t, int) {
                     const int call = ++calls;
                     if (call == 20) cancellation.request();
                     while (call > 20 && !cancellation.requested()) std::this_thread::yield();
                   },
                   &cancellation),
               Cancelled);
  EXPECT_GE(calls, 20);
  EXPECT_LE(calls, 20 + pool.size()) << "at most what was under way";
  EXPECT_THROW(pool.parallel_for(
                   5, 1, [&](std::size_t, std::size_t, int) { ++calls; }, &cancellation),
               Cancelled);
  EXPECT_LE(calls, 20 + pool.size()) << "a request that was there before leaves nothing to do";
}

TEST_P(ThreadPoolOf, AFailureIsToldRatherThanTheCancellationAfterIt) {
  Cancellation cancellation;
  EXPECT_THROW(pool.parallel_for(
                   1, 1,
                   [&](std::size_t, std::size_t, int) {
                     cancellation.request();
                     throw std::logic_error("first");
                   },
                   &cancellation),
               std::logic_error);
}

TEST_P(ThreadPoolOf, APollThatSaysYesStopsTheLoop) {
  int polls = 0;
  Cancellation cancellation([&] { return ++polls >= 1; });
  const auto loop_until_polled = [&] {
    // Other threads may take every index before the caller gets one.
    for (;;)
      pool.parallel_for(
          1000, 1, [](std::size_t, std::size_t, int) {}, &cancellation);
  };
  EXPECT_THROW(loop_until_polled(), Cancelled);
  EXPECT_EQ(polls, 1);
  EXPECT_TRUE(cancellation.requested());
}

TEST_P(ThreadPoolOf, PollingIsLeftToTheCallingThread) {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> elsewhere{false};
  Cancellation cancellation([&] {
    if (std::this_thread::get_id() != caller) elsewhere = true;
    return false;
  });
  // The others go on taking indices for longer than the interval between polls.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
  pool.parallel_for(
      4 * static_cast<std::size_t>(pool.size()), 1,
      [&](std::size_t begin, std::size_t, int) {
        if (begin < static_cast<std::size_t>(pool.size()))
          while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
      },
      &cancellation);
  EXPECT_FALSE(elsewhere);
}

TEST_P(ThreadPoolOf, APollThatThrowsDoesNotLeaveThreadsBehind) {
  for (int round = 0; round < 20; ++round) {
    Cancellation cancellation([]() -> bool { throw std::runtime_error("poll"); });
    std::atomic<int> inside{0};
    try {
      pool.parallel_for(
          200, 1,
          [&](std::size_t, std::size_t, int) {
            ++inside;
            std::this_thread::yield();
            --inside;
          },
          &cancellation);
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "poll");
    }
    ASSERT_EQ(inside, 0);
  }
}

TEST_P(ThreadPoolOf, ManyShortLoopsAfterEachOther) {
  std::vector<std::size_t> sums(7);
  for (int round = 0; round < 3000; ++round) {
    std::fill(sums.begin(), sums.end(), 0);
    pool.parallel_for(7, 1, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) sums[i] += i + 1;
    });
    // Plain writes of the workers must be visible here without any further care.
    ASSERT_EQ(std::accumulate(sums.begin(), sums.end(), std::size_t{0}), 28u) << round;
  }
}

TEST(ThreadPool, ReallyUsesSeveralThreads) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::condition_variable all_here;
  std::set<std::thread::id> threads;
  pool.parallel_for(3, 1, [&](std::size_t, std::size_t, int) {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    all_here.notify_all();
    // Nobody goes on before all three are here, so no thread can take two.
    all_here.wait(lock, [&] { return threads.size() == 3; });
  });
  EXPECT_EQ(threads.size(), 3u);
}

TEST(ThreadPool, ZeroMeansAllCores) { EXPECT_GE(ThreadPool(0).size(), 1); }

TEST(ThreadPool, ComesAndGoesWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool(3);
}

TEST(Cancellation, AsksThePollSeldomAndNeverAfterAYes) {
  int polls = 0;
  Cancellation seldom([&] {
    ++polls;
    return false;
  });
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(seldom.check());
  EXPECT_GE(polls, 1);
  EXPECT_LT(polls, 100) << "at most every 50 ms";
  int asked = 0;
  Cancellation yes([&] { return ++asked > 0; });
  EXPECT_FALSE(yes.requested());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(yes.check());
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(Cancellation().check());
}

}  // namespace
}  // namespace rimetree
