// Dimensions of children: what their class says of them is what is asked for.
#include "runtime/core/classes/child_dims.h"

#include <gtest/gtest.h>

#include "runtime/core/error.h"

namespace rimetree {
namespace {

/// What is wrong with children of these dimensions; "": nothing.
std::string refused(const std::vector<ChildSpec>& specs, const std::vector<TensorShape>& dims) {
  std::vector<const TensorShape*> children;
  for (const TensorShape& of_child : dims) children.push_back(&of_child);
  try {
    require_dims({.name = "Any", .children = specs}, children);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

std::string refused(const std::string& shape, const TensorShape& dims) {
  return refused({{.label = "x", .shape = shape}}, {dims});
}

TEST(ChildDims, OneOfTheAlternativesMustDo) {
  const std::string lmn = "[3] or [source,3]";
  EXPECT_EQ(refused(lmn, {3}), "");
  EXPECT_EQ(refused(lmn, {7, 3}), "");
  EXPECT_EQ(refused(lmn, {0, 3}), "");
  for (const TensorShape& bad : {TensorShape{}, {4}, {3, 2}, {1, 7, 3}, {3, 3, 3, 3}}) EXPECT_NE(refused(lmn, bad), "");
  const std::string scalars = "[2,2], [source,2,2], [] or [source]";
  for (const TensorShape& good : {TensorShape{}, {4}, {2, 2}, {5, 2, 2}}) EXPECT_EQ(refused(scalars, good), "");
  EXPECT_EQ(refused({{.label = "lmn", .shape = lmn, .doc = "where it is"}}, {{4}}),
            "child \"lmn\" has dimensions [4], expected [3] or [source,3]: where it is");
}

TEST(ChildDims, ANameIsOneLengthInAllChildren) {
  const std::vector<ChildSpec> specs{{.label = "elements", .shape = "[element,3]"},
                                     {.label = "weights", .shape = "[element] or [n,element]"}};
  EXPECT_EQ(refused(specs, {{5, 3}, {5}}), "");
  EXPECT_EQ(refused(specs, {{5, 3}, {2, 5}}), "");
  EXPECT_EQ(refused(specs, {{5, 3}, {4}}), "child \"weights\" has dimensions [4], expected [5] or [n,5]");
  EXPECT_EQ(refused("[n,n]", {2, 2}), "");
  EXPECT_EQ(refused("[n,n]", {2, 3}), "child \"x\" has dimensions [2,3], expected [n,n]") << "n is of no child yet";
}

TEST(ChildDims, ChildrenOfARepeatedOneHaveLengthsOfTheirOwn) {
  const std::vector<ChildSpec> specs{{.label = "a", .shape = "[S]"},
                                     {.label = "factor", .shape = "[S,n]", .repeated = true}};
  EXPECT_EQ(refused(specs, {{2}, {2, 3}, {2, 4}}), "");
  EXPECT_EQ(refused(specs, {{2}, {2, 3}, {3, 3}}), "child \"factor\" has dimensions [3,3], expected [2,n]");
}

TEST(ChildDims, ProseSaysNothing) {
  for (const char* prose : {"any", "scalar or tensor", "[1] to [3]", "[S]; of one source also []", "[3", "[3] or ", ""})
    EXPECT_EQ(refused(prose, {5, 5}), "") << prose;
}

TEST(ChildDims, AnOptionalChildMayBeLeftOut) {
  const NodeClass node_class{.name = "Any",
                             .children = {{.label = "a", .shape = "[2]"}, {.label = "b", .shape = "[3]"}}};
  const TensorShape three{3};
  const TensorShape* const children[] = {nullptr, &three};
  EXPECT_NO_THROW(require_dims(node_class, children));
}

TEST(ChildDims, GoodDimensionsOfOneNodeExcuseNoOtherNode) {
  const NodeClass ab{.name = "AB", .children = {{.label = "a", .shape = "[n]"}, {.label = "b", .shape = "[n]"}}};
  const NodeClass c{.name = "C", .children = {{.label = "c", .shape = "[3,3]"}, {.label = "d", .shape = "[3]"}}};
  const TensorShape two{2};
  const TensorShape three{3};
  using Children = std::vector<const TensorShape*>;
  DimsCheck check;
  for (int twice = 0; twice < 2; ++twice) EXPECT_NO_THROW(check.require(ab, Children{&two, &two}));
  EXPECT_THROW(check.require(ab, Children{&two, &three}), ShapeError);
  EXPECT_THROW(check.require(ab, Children{&two, &three}), ShapeError) << "what was refused is not good";
  EXPECT_NO_THROW(check.require(ab, Children{&three, &three}));
  EXPECT_NO_THROW(check.require(ab, Children{nullptr, &two})) << "an optional child left out";
  EXPECT_THROW(check.require(ab, Children{&three, &two}), ShapeError) << "and given again";
  EXPECT_THROW(check.require(c, Children{nullptr, &two}), ShapeError) << "good for the other class, the last time";
}

}  // namespace
}  // namespace rimetree
