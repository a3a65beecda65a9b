#include "runtime/core/classes/registry.h"

// Boost.DLL with the standard library's paths: nothing of Boost has to be linked.
#define BOOST_DLL_USE_STD_FS
#include <elf.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"

namespace rimetree {

struct Registry::Library {
  boost::dll::shared_library library;
  Plugin plugin;
};

namespace {
/// A library stays loaded even if it is refused: when it was loaded it may have given functions of its own to others.
void keep_loaded(const boost::dll::shared_library& library) {
  static std::mutex mutex;
  static auto* const all = new std::vector<boost::dll::shared_library>;  // never destroyed, as the registry
  const std::lock_guard lock(mutex);
  all->push_back(library);
}

/// What the system says of a library that cannot be loaded, of what Boost makes of it.
std::string reason_of(const std::string& failure) {
  static const std::string before = "dlerror system message: ";
  const auto begin = failure.find(before), end = failure.rfind("): ");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return failure;
  std::string found = failure.substr(begin + before.size(), end - begin - before.size());
  if (found.find("undefined symbol") != std::string::npos)
    found += "; is it linked with RimeTree (rimetree_add_plugin in CMake), of this version?";
  return found;
}

/// Whether a library ends before what its header says that it holds. The system would load it all the same, and a
/// signal end the program.
bool is_cut_short(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  const std::uintmax_t size = std::filesystem::file_size(path);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return true;
    if (segment.p_offset + segment.p_filesz > size) return true;
  }
  return false;
}
}  // namespace

Registry::Registry() = default;
Registry::~Registry() = default;

Registry& Registry::instance() {
  // Never destroyed: node classes hold functions of libraries that must stay loaded until the process ends.
  static auto* const registry = new Registry;
  return *registry;
}

const Registry::Plugin& Registry::load(const std::filesystem::path& path) {
  std::error_code error;
  const auto absolute = std::filesystem::weakly_canonical(path, error);
  if (error || !std::filesystem::exists(absolute, error))
    throw PluginError("no plugin at " + path.string() + ": there is no such file");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& library : libraries_)
      if (library->plugin.path == absolute) return library->plugin;
  }
  if (is_cut_short(absolute)) throw PluginError("cannot load plugin " + path.string() + ": the file is cut short");
  auto library = std::make_unique<Library>();
  try {
    library->library.load(absolute, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    keep_loaded(library->library);
  } catch (const std::exception& failure) {
    throw PluginError("cannot load plugin " + path.string() + ": " + reason_of(failure.what()));
  }
  if (!library->library.has("rimetree_plugin"))
    throw PluginError(path.string() + " is not a RimeTree plugin: it does not use RIMETREE_PLUGIN");
  const auto& description = library->library.get<const PluginDescription>("rimetree_plugin");
  if (description.abi_version != kPluginAbiVersion)
    throw PluginError("plugin " + path.string() + " was built for ABI version " +
                      std::to_string(description.abi_version) + ", this RimeTree has version " +
                      std::to_string(kPluginAbiVersion) + "; build the plugin again against this RimeTree");
  library->plugin.name = description.name;
  if (description.about != nullptr) library->plugin.about = description.about();
  library->plugin.path = absolute;
  const auto& classes = description.node_classes();
  library->plugin.clashes = add(classes, description.name);
  std::map<std::string, std::ptrdiff_t> refused;
  for (const std::string& name : library->plugin.clashes) ++refused[name];
  for (const NodeClass& node_class : classes)  // of one that is there several times only the first may be registered
    if (--refused[node_class.name] == -1) library->plugin.classes.push_back(node_class.name);
  const std::lock_guard lock(mutex_);
  libraries_.push_back(std::move(library));
  return libraries_.back()->plugin;
}

std::vector<std::string> Registry::add(const std::vector<NodeClass>& classes, const std::string& plugin_name) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> clashes;
  for (const NodeClass& node_class : classes) {
    const auto [it, inserted] = classes_.try_emplace(node_class.name, nullptr);
    if (!inserted) {
      clashes.push_back(node_class.name);
      continue;
    }
    it->second = std::make_unique<const NodeClass>(node_class);
    owner_[node_class.name] = plugin_name;
  }
  return clashes;
}

const NodeClass* Registry::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = classes_.find(name);
  return it == classes_.end() ? nullptr : it->second.get();
}

namespace {
// Levenshtein distance, for suggestions.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}
}  // namespace

const NodeClass& Registry::get(const std::string& name) const {
  if (const NodeClass* node_class = find(name)) return *node_class;
  std::string similar;
  for (const NodeClass* node_class : classes())
    if (edit_distance(name, node_class->name) <= std::max<std::size_t>(2, name.size() / 3))
      similar += (similar.empty() ? "" : ", ") + node_class->name;
  throw Error("unknown node class \"" + name + "\"" + (similar.empty() ? "" : "; did you mean " + similar + "?"));
}

std::vector<const NodeClass*> Registry::classes() const {
  const std::lock_guard lock(mutex_);
  std::vector<const NodeClass*> list;
  for (const auto& [name, node_class] : classes_) list.push_back(node_class.get());
  return list;
}

std::vector<Registry::Plugin> Registry::plugins() const {
  const std::lock_guard lock(mutex_);
  std::vector<Plugin> list;
  for (const auto& library : libraries_) list.push_back(library->plugin);
  return list;
}

}  // namespace rimetree
