// View: dense row-major indexing.
#include "memory/view.h"

#include <gtest/gtest.h>

#include <vector>

namespace rimetree {
namespace {

using memory::View;

TEST(View, LastIndexRunsFastest) {
  const View<const double, 3> view{nullptr, {2, 3, 4}};
  EXPECT_EQ(view.size(), 24u);
  EXPECT_EQ(view.offset(0, 0, 1), 1u);
  EXPECT_EQ(view.offset(0, 1, 0), 4u);
  EXPECT_EQ(view.offset(1, 0, 0), 12u);
  EXPECT_EQ(view.offset(1, 2, 3), 23u);
}

TEST(View, OffsetsBeyondFourGigaElementsDoNotWrap) {
  const View<const float, 2> view{nullptr, {1u << 20, 1u << 20}};
  EXPECT_EQ(view.offset((1 << 20) - 1, (1 << 20) - 1), (std::size_t{1} << 40) - 1);
}

TEST(View, WritesThroughAndBecomesReadOnly) {
  std::vector<double> values(6, 0);
  const View<double, 2> view{values.data(), {2, 3}};
  view(1, 2) = 7;
  EXPECT_EQ(values[5], 7);
  const View<const double, 2> read = view;
  EXPECT_EQ(read(1, 2), 7);
  static_assert(std::is_same_v<decltype(read(0, 0)), const double&>);
  static_assert(!std::is_convertible_v<View<const double, 2>, View<double, 2>>);
}

TEST(View, AnEmptyExtentMakesItEmpty) { EXPECT_EQ((View<int, 3>{nullptr, {5, 0, 2}}.size()), 0u); }

}  // namespace
}  // namespace rimetree
