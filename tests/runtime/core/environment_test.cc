#include "runtime/core/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace rimetree {
namespace {

constexpr const char* kVariable = "RIMETREE_A_TEST_SAYS";

TEST(Environment, SaysYesOrNoOrNothing) {
  ::unsetenv(kVariable);
  EXPECT_FALSE(yes_or_no(kVariable).has_value());
  for (const auto& [text, said] : {std::pair("1", true), std::pair("0", false)}) {
    ::setenv(kVariable, text, 1);
    EXPECT_EQ(yes_or_no(kVariable), said);
  }
  ::setenv(kVariable, "", 1);
  EXPECT_FALSE(yes_or_no(kVariable).has_value());
}

/// Words that mean no had meant yes.
TEST(Environment, RefusesWhatMightMeanEither) {
  for (const char* text : {"no", "off", "false", "yes", "00", "2", " 1"}) {
    ::setenv(kVariable, text, 1);
    EXPECT_THROW(yes_or_no(kVariable), Error) << text;
  }
  ::unsetenv(kVariable);
}

}  // namespace
}  // namespace rimetree
