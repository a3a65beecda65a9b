#include "tests/support/project_plugins.h"

#include "runtime/core/classes/registry.h"

namespace rimetree::test {

namespace {

namespace fs = std::filesystem;

fs::path plugin_path(const fs::path& built) {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path() / built.filename();
  return fs::exists(beside) ? beside : built;
}

}  // namespace

void load_project_plugins() {
  Registry::instance().load(plugin_path(RIMETREE_NODES_PLUGIN));
#ifdef RIMETREE_CUDA_PLUGIN
  Registry::instance().load(plugin_path(RIMETREE_CUDA_PLUGIN));
#endif
}

fs::path test_plugin(const std::string& name) { return plugin_path(fs::path(RIMETREE_TEST_PLUGINS) / (name + ".so")); }

}  // namespace rimetree::test
