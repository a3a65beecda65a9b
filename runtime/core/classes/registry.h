// All node classes of this process, and the plugins they came from.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/classes/node_class.h"

namespace rimetree {

class Registry {
 public:
  struct Plugin {
    std::string name;
    std::string about;  ///< what it says of itself, e.g. the instruction set in use
    std::filesystem::path path;
    std::vector<std::string> classes;  ///< those registered
    std::vector<std::string> clashes;  ///< names that another plugin had already: left out, and reported
  };

  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  /// The one of this process.
  static Registry& instance();

  /// Loads a shared library that was built with RIMETREE_PLUGIN. Loading it again changes nothing. Throws PluginError:
  /// no such file, not a plugin, another ABI version. Name clashes are no error: see Plugin::clashes.
  const Plugin& load(const std::filesystem::path& path);
  /// Takes over classes that are linked in; returns the names that clash and are left out.
  std::vector<std::string> add(const std::vector<NodeClass>& classes, const std::string& plugin_name);

  /// nullptr if there is no such class.
  const NodeClass* find(const std::string& name) const;
  /// As find; throws Error naming classes with similar names.
  const NodeClass& get(const std::string& name) const;
  std::vector<const NodeClass*> classes() const;  ///< by name
  std::vector<Plugin> plugins() const;

 private:
  struct Library;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Library>> libraries_;  // before the classes, which hold code of them: unloaded last
  std::map<std::string, std::unique_ptr<const NodeClass>> classes_;
  std::map<std::string, std::string> owner_;  // class -> plugin
};

}  // namespace rimetree
