// What a plugin includes: registration of node classes. Every shared library collects its own list while it is loaded
// (nothing can fail there), and the registry takes it over after having checked the ABI version.
#pragma once

#include <vector>

#include "runtime/core/classes/node_class.h"

namespace rimetree {

/// Raised whenever the layout or meaning of anything a plugin sees changes (headers that nodes include).
inline constexpr int kPluginAbiVersion = 20;

/// The classes of this shared library. Hidden, so that each library has a list of its own.
__attribute__((visibility("hidden"))) inline std::vector<NodeClass>& library_node_classes() {
  static std::vector<NodeClass> classes;
  return classes;
}

/// What a plugin exports under the name `rimetree_plugin`. The first member never moves.
struct PluginDescription {
  int abi_version;
  const char* name;
  std::vector<NodeClass>& (*node_classes)();
  std::string (*about)() = nullptr;  ///< what it runs on, e.g. the instruction set in use; may be absent
};

inline PluginDescription describe_plugin(std::vector<NodeClass>& (*classes)(), const char* name,
                                         std::string (*about)() = nullptr) {
  return {kPluginAbiVersion, name, classes, about};
}

}  // namespace rimetree

/// Once in every node class's file, at namespace scope: registers `Class`, which has `static NodeClass info()`.
#define RIMETREE_REGISTER_NODE(Class)                                                             \
  [[maybe_unused]] static const bool rimetree_registered_##Class = [] {                           \
    ::rimetree::library_node_classes().push_back(::rimetree::with_factory<Class>(Class::info())); \
    return true;                                                                                  \
  }()

/// Once in every plugin, at global scope: RIMETREE_PLUGIN("name") or RIMETREE_PLUGIN("name", about_function).
#define RIMETREE_PLUGIN(...)                                                                             \
  extern "C" __attribute__((visibility("default"))) const ::rimetree::PluginDescription rimetree_plugin; \
  const ::rimetree::PluginDescription rimetree_plugin =                                                  \
      ::rimetree::describe_plugin(&::rimetree::library_node_classes, __VA_ARGS__)
