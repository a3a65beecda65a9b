// Memory that is asked for in time: each line of what is read or written, once.
#include "runtime/program/read_ahead.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace rimetree::program {
namespace {

constexpr std::uintptr_t kLine = 64;

/// Lines on which any of n doubles lie.
std::set<std::uintptr_t> lines_of(const double* numbers, std::size_t n) {
  std::set<std::uintptr_t> lines;
  for (std::size_t i = 0; i < n; ++i) lines.insert(reinterpret_cast<std::uintptr_t>(numbers + i) / kLine);
  return lines;
}

/// Lines asked for as one goes through `cells` in blocks, with so many instructions each.
std::multiset<std::uintptr_t> asked(ReadAhead& ahead, std::size_t cells, std::size_t block, std::size_t instructions) {
  std::multiset<std::uintptr_t> lines;
  for (std::size_t first = 0; first < cells; first += block) {
    ahead.aim(first, std::min(block, cells - first), instructions);
    for (std::size_t i = 0; i < instructions; ++i)
      ahead.ask([&](const void* line) { lines.insert(reinterpret_cast<std::uintptr_t>(line) / kLine); });
  }
  return lines;
}

TEST(ReadAhead, AsksForEveryLineOfSeveralArrays) {
  constexpr std::size_t kCells = 1003;
  std::vector<double> real(kCells), pairs(2 * kCells + 1), one(1);
  Walk first, second, second_again, single;
  first.base = real.data();
  first.add(kCells, 1);
  second.base = pairs.data();
  second.add(kCells, 2);
  second_again = second;
  ++second_again.base;  // the imaginary part
  single.base = one.data();
  for (const std::size_t instructions : {1, 3, 40}) {
    ReadAhead ahead;
    for (const Walk* walk : {&first, &second, &second_again, &single}) ahead.add(*walk);
    EXPECT_EQ(ahead.numbers(), 3u);
    const std::multiset<std::uintptr_t> lines = asked(ahead, kCells, 200, instructions);
    std::set<std::uintptr_t> wanted = lines_of(real.data(), kCells);
    wanted.merge(lines_of(pairs.data(), 2 * kCells));
    EXPECT_EQ(std::set<std::uintptr_t>(lines.begin(), lines.end()), wanted);
    // Lines where one block ends and the next one begins are asked for by both.
    EXPECT_LE(lines.size(), wanted.size() + 2 * (kCells / 200 + 1));
  }
}

TEST(ReadAhead, FollowsRunsOfAnArrayWithGaps) {
  std::vector<double> numbers(40 * 100);
  Walk walk;
  walk.base = numbers.data();
  walk.add(40, 100);  // of which 24 are read
  walk.add(24, 1);
  ReadAhead ahead;
  ahead.add(walk);
  const std::multiset<std::uintptr_t> lines = asked(ahead, 40 * 24, 48, 5);
  std::set<std::uintptr_t> wanted;
  for (std::size_t run = 0; run < 40; ++run) wanted.merge(lines_of(&numbers[run * 100], 24));
  EXPECT_EQ(std::set<std::uintptr_t>(lines.begin(), lines.end()), wanted);
}

TEST(ReadAhead, LeavesWhatIsNotReadInRuns) {
  std::vector<double> numbers(5000);
  Walk walk;
  walk.base = numbers.data();
  walk.add(100, 50);
  ReadAhead ahead;
  ahead.add(walk);
  EXPECT_EQ(ahead.numbers(), 0u);
  EXPECT_TRUE(asked(ahead, 100, 20, 3).empty());
}

}  // namespace
}  // namespace rimetree::program
