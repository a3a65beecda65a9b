#include "memory/optional_library.h"

#include <gtest/gtest.h>

namespace rimetree::memory {
namespace {

TEST(OptionalLibrary, GivesFunctionsOfALibraryThatIsThere) {
  OptionalLibrary library("libm.so.6");
  double (*root)(double) = nullptr;
  library.find("sqrt", root);
  ASSERT_TRUE(library.is_there());
  EXPECT_EQ(root(9), 3);
}

TEST(OptionalLibrary, IsNotThereWhereAFunctionIsMissing) {
  OptionalLibrary library("libm.so.6");
  double (*no_such)(double) = nullptr, (*root)(double) = nullptr;
  library.find("no_such_function", no_such);
  library.find("sqrt", root);
  EXPECT_FALSE(library.is_there());
}

TEST(OptionalLibrary, IsNotThereWhereNoneIs) {
  OptionalLibrary library("libno_such.so.1");
  double (*root)(double) = nullptr;
  library.find("sqrt", root);
  EXPECT_FALSE(library.is_there());
  EXPECT_EQ(root, nullptr);
}

}  // namespace
}  // namespace rimetree::memory
