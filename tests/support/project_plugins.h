// The project's own plugins: all node classes, and those for GPUs where they were built; and plugins made for tests.
#pragma once

#include <filesystem>
#include <string>

namespace rimetree::test {

/// Loads them into Registry::instance(), from where they were built, or from beside the test program where all have
/// been copied elsewhere (tests/gpu/pack.sh).
void load_project_plugins();

/// One of tests/runtime/core/plugins, or of examples/plugin.
std::filesystem::path test_plugin(const std::string& name);

}  // namespace rimetree::test
