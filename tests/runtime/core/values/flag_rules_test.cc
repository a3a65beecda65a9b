// Merging flags: planes and cells that broadcast.
#include "runtime/core/values/flag_rules.h"

#include <gtest/gtest.h>

#include "memory/host_device.h"

namespace rimetree {
namespace {

class MergeFlags : public ::testing::Test {
 protected:
  Flags flags(std::size_t planes, const CellShape& cells, const std::vector<std::int32_t>& bits) {
    Flags result(*pool, planes, cells);
    EXPECT_EQ(result.size(), bits.size());
    std::copy(bits.begin(), bits.end(), result.data());
    return result;
  }
  static std::vector<std::int32_t> bits(const Flags& flags) { return {flags.data(), flags.data() + flags.size()}; }
  std::shared_ptr<memory::Pool> pool = memory::Pool::create(memory::host());
  const CellShape both{{2, 3, 1, 1}}, time{{2, 1, 1, 1}}, frequency{{1, 3, 1, 1}};
};

TEST_F(MergeFlags, OrsAndKeepsWhatWasThere) {
  Flags target = flags(1, both, {8, 0, 0, 0, 0, 1});
  merge_flags(target, 0, flags(1, both, {1, 2, 0, 0, 0, 1}), 0, 1);
  EXPECT_EQ(bits(target), (std::vector<std::int32_t>{9, 2, 0, 0, 0, 1}));
}

TEST_F(MergeFlags, BroadcastsTheCellsOfTheSource) {
  Flags target(*pool, 1, both);
  merge_flags(target, 0, flags(1, time, {1, 2}), 0, 1);
  merge_flags(target, 0, flags(1, frequency, {4, 0, 8}), 0, 1);
  EXPECT_EQ(bits(target), (std::vector<std::int32_t>{5, 1, 9, 6, 2, 10}));
}

TEST_F(MergeFlags, BroadcastsAlongAnyAxes) {
  const CellShape all{{2, 3, 4, 5}};
  for (int which = 0; which < 16; ++which) {
    CellShape own = all;
    for (int axis = 0; axis < kAxes; ++axis)
      if ((which >> axis & 1) == 0) own.extent[axis] = 1;
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; i < own.size(); ++i) numbers.push_back(std::int32_t(i + 1));
    for (const CellShape& cells : {all, own}) {
      Flags target(*pool, 1, cells);
      merge_flags(target, 0, flags(1, own, numbers), 0, 1);
      std::size_t i = 0;
      for (int t = 0; t < cells.extent[0]; ++t)
        for (int f = 0; f < cells.extent[1]; ++f)
          for (int l = 0; l < cells.extent[2]; ++l)
            for (int m = 0; m < cells.extent[3]; ++m) {
              const auto at = [&](int index, int axis) { return own.extent[axis] == 1 ? 0 : index; };
              const int place = ((at(t, 0) * own.extent[1] + at(f, 1)) * own.extent[2] + at(l, 2)) * own.extent[3];
              EXPECT_EQ(target.data()[i++], place + at(m, 3) + 1) << which;
            }
    }
  }
}

TEST_F(MergeFlags, TakesThePlanesAskedForIntoTheOneAskedFor) {
  const Flags source = flags(4, {}, {1, 2, 4, 8});
  Flags target(*pool, 2, {});
  merge_flags(target, 1, source, 1, 2);
  EXPECT_EQ(bits(target), (std::vector<std::int32_t>{0, 6}));
  merge_flags(target, 0, flags(1, {}, {16}), 3, 1);  // one plane stands for all elements
  EXPECT_EQ(bits(target), (std::vector<std::int32_t>{16, 6}));
  merge_flags(target, 0, Flags(), 0, 1);
  EXPECT_EQ(bits(target), (std::vector<std::int32_t>{16, 6}));
}

}  // namespace
}  // namespace rimetree
