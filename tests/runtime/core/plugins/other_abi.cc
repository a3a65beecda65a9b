// A plugin that was built against another version of the interface: nothing of it may be used but the version.
#include "runtime/core/classes/plugin_api.h"

namespace {
std::vector<rimetree::NodeClass>& not_to_be_called() { std::terminate(); }
}  // namespace

extern "C" __attribute__((visibility("default"))) const rimetree::PluginDescription rimetree_plugin;
const rimetree::PluginDescription rimetree_plugin{rimetree::kPluginAbiVersion + 41, nullptr, &not_to_be_called};
