// Scopes and laps on a clock that the test moves.
#include "runtime/core/threads/stopwatch.h"

#include <gtest/gtest.h>

namespace rimetree {
namespace {

double now = 0;
double clock_of_test() { return now; }

TEST(Stopwatch, LapsBeginWhereTheLastOneEnded) {
  now = 5;
  Stopwatch watch(clock_of_test);
  now = 7;
  EXPECT_EQ(watch.lap(), 2);
  EXPECT_EQ(watch.lap(), 0);
  now = 10;
  EXPECT_EQ(watch.lap(), 3);
}

TEST(TimedScope, AddsToWhatIsThere) {
  double seconds = 100;
  for (int k = 0; k < 2; ++k) {
    const TimedScope scope(seconds, clock_of_test);
    now += 8;
  }
  EXPECT_EQ(seconds, 116);
}

TEST(TimedScope, NestedScopesCountOnceAndAtTheirEnds) {
  double seconds = 1;
  {
    const TimedScope outer(seconds, clock_of_test);
    now += 2;
    for (int k = 0; k < 2; ++k) {
      const TimedScope inner(seconds, clock_of_test);
      now += 4;
    }
    EXPECT_EQ(seconds, 9);  // of those that have ended
    now += 16;
  }
  EXPECT_EQ(seconds, 27);
}

}  // namespace
}  // namespace rimetree
