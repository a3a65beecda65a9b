// Registry: node classes, suggestions, and plugins good and bad.
#include "runtime/core/classes/registry.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "tests/support/project_plugins.h"
#include "tests/support/test_nodes.h"

namespace rimetree {
namespace {

namespace fs = std::filesystem;

using test::test_plugin;

NodeClass named(const std::string& name, const std::string& summary = "") { return {.name = name, .summary = summary}; }

std::string refused(Registry& registry, const fs::path& path) {
  try {
    registry.load(path);
  } catch (const PluginError& error) {
    return error.what();
  }
  return "";
}

bool has_part(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Registry, FindsWhatWasAdded) {
  Registry registry;
  EXPECT_TRUE(registry.add({named("Sin"), named("Add")}, "one").empty());
  ASSERT_NE(registry.find("Sin"), nullptr);
  EXPECT_EQ(registry.get("Sin").name, "Sin");
  EXPECT_EQ(registry.find("sin"), nullptr);
  ASSERT_EQ(registry.classes().size(), 2u);
  EXPECT_EQ(registry.classes()[0]->name, "Add") << "by name";
}

TEST(Registry, ClassesStayWhereTheyAreWhenOthersAreAdded) {
  Registry registry;
  registry.add({named("M")}, "one");
  const NodeClass* const first = registry.find("M");
  for (int i = 0; i < 100; ++i) registry.add({named("M" + std::to_string(i))}, "more");
  EXPECT_EQ(registry.find("M"), first);
}

TEST(Registry, TheFirstOfTwoNamesIsKept) {
  Registry registry;
  registry.add({named("Sin", "first")}, "one");
  EXPECT_EQ(registry.add({named("Sin", "second"), named("Cos")}, "two"), std::vector<std::string>{"Sin"});
  EXPECT_EQ(registry.get("Sin").summary, "first");
  EXPECT_NE(registry.find("Cos"), nullptr) << "the others of the plugin are taken";
}

TEST(Registry, UnknownNamesComeWithSuggestions) {
  Registry registry;
  registry.add({named("VisPhaseShift"), named("Add"), named("Composer")}, "one");
  try {
    registry.get("VisPhaseshift");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown node class \"VisPhaseshift\"; did you mean VisPhaseShift?");
  }
  try {
    registry.get("Zzzzzzzzzz");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown node class \"Zzzzzzzzzz\"");
  }
}

TEST(Plugin, GoodOneBringsItsClasses) {
  Registry registry;
  const auto& loaded = registry.load(test_plugin("good"));
  EXPECT_EQ(loaded.name, "good");
  EXPECT_EQ(loaded.about, "made for tests");
  EXPECT_EQ(loaded.classes, std::vector<std::string>{"TestPluginSeven"});
  EXPECT_TRUE(loaded.clashes.empty());
  ASSERT_EQ(registry.plugins().size(), 1u);

  const auto forest = Forest::build({{"x", "TestPluginSeven", {}, {}, "script.py:1"}}, registry);
  Evaluator evaluator(forest, {.threads = 1});
  EXPECT_EQ(test::values(*evaluator.evaluate(test::request(), "x")), std::vector<double>{7});
}

TEST(Plugin, LoadingAgainChangesNothing) {
  Registry registry;
  const auto* const first = &registry.load(test_plugin("good"));
  const auto* const again = &registry.load(test_plugin("good").parent_path() / "." / "good.so");
  EXPECT_EQ(first, again);
  EXPECT_TRUE(again->clashes.empty());
  EXPECT_EQ(registry.plugins().size(), 1u);
}

TEST(Plugin, NameClashesAreReportedAndNotFatal) {
  Registry registry;
  registry.load(test_plugin("good"));
  const auto& second = registry.load(test_plugin("clashing"));
  EXPECT_EQ(second.clashes, (std::vector<std::string>{"TestPluginSeven", "TestPluginEight"}));
  EXPECT_EQ(second.classes, std::vector<std::string>{"TestPluginEight"});
  EXPECT_EQ(registry.get("TestPluginSeven").summary, "The number seven.");
  EXPECT_NE(registry.find("TestPluginEight"), nullptr);
}

/// What Boost adds ended in "Bad file descriptor".
TEST(Plugin, WhatCannotBeLoadedIsSaidAsTheSystemSaysIt) {
  const auto path = std::filesystem::path(testing::TempDir()) / "no_library.so";
  std::ofstream(path) << "no library";
  Registry registry;
  EXPECT_EQ(refused(registry, path), "cannot load plugin " + path.string() + ": " + path.string() + ": file too short");
}

TEST(Plugin, OfAnotherAbiVersionIsRefusedUntouched) {
  Registry registry;
  const std::string message = refused(registry, test_plugin("other_abi"));
  EXPECT_TRUE(has_part(message, "ABI version " + std::to_string(kPluginAbiVersion + 41))) << message;
  EXPECT_TRUE(has_part(message, "this RimeTree has version " + std::to_string(kPluginAbiVersion))) << message;
  EXPECT_TRUE(has_part(message, "other_abi.so")) << message;
  EXPECT_TRUE(registry.plugins().empty());
  EXPECT_TRUE(registry.classes().empty());
  // It stays loaded: what it gave away when it was loaded may be called at the end.
  EXPECT_NE(dlopen(test_plugin("other_abi").c_str(), RTLD_NOLOAD | RTLD_NOW), nullptr);
}

TEST(Plugin, ALibraryThatIsNoneIsRefused) {
  Registry registry;
  const std::string message = refused(registry, test_plugin("no_plugin"));
  EXPECT_TRUE(has_part(message, "is not a RimeTree plugin")) << message;
  EXPECT_TRUE(registry.plugins().empty());
}

TEST(Plugin, AFileThatIsNotThereOrNoLibraryIsRefused) {
  Registry registry;
  EXPECT_TRUE(has_part(refused(registry, "/no/such/plugin.so"), "no plugin at /no/such/plugin.so"));
  const fs::path text = fs::path(testing::TempDir()) / "rimetree_not_a_library.so";
  std::ofstream(text) << "hello";
  EXPECT_TRUE(has_part(refused(registry, text), "cannot load plugin"));
  fs::remove(text);
  EXPECT_TRUE(has_part(refused(registry, testing::TempDir()), "cannot load plugin")) << "a folder";
}

TEST(Plugin, ARegistryThatLoadedOneCanGo) {
  auto registry = std::make_unique<Registry>();
  registry->load(test_plugin("clashing"));
  registry.reset();  // its classes hold code of the library, which must go last
  Registry other;
  EXPECT_EQ(other.load(test_plugin("clashing")).classes.size(), 2u);
}

}  // namespace
}  // namespace rimetree
