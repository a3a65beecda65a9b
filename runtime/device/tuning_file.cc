#include "runtime/device/tuning_file.h"

#define BOOST_BIND_GLOBAL_PLACEHOLDERS  // for Boost's parser, which includes what warns without it
#include <boost/property_tree/json_parser.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/core/error.h"

namespace rimetree {
namespace {

namespace fs = std::filesystem;
using Tree = boost::property_tree::ptree;

/// Raised when entries mean something else than before.
constexpr int kFormat = 1;

std::string quoted(const std::string& text) {
  std::string to = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') to += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) to += c;
  }
  return to + '"';
}
bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

/// {"name": value, ...}, one per line or all in one.
template <class Map, class F>
void write_object(std::ostream& to, const Map& map, const std::string& indent, F&& value) {
  const char* separator = "";
  to << '{';
  for (const auto& [name, one] : map) {
    to << separator << indent << quoted(name) << ": ";
    value(one);
    separator = indent.empty() ? ", " : ",";
  }
  if (!indent.empty()) to << indent.substr(0, indent.size() - 2);
  to << '}';
}

}  // namespace

std::string tuning_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/rimetree/tuning.json";
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.cache/rimetree/tuning.json";
}

TuningEntries parse_tuning(const std::string& json) {
  Tree tree;
  std::istringstream stream(json);
  try {
    boost::property_tree::read_json(stream, tree);
    if (tree.get<int>("format") != kFormat) throw Error("it is of another format");
    TuningEntries entries;
    for (const auto& [device, kernels] : tree.get_child("devices"))
      for (const auto& [kernel, fields] : kernels)
        for (const auto& [field, value] : fields) entries[device][kernel][field] = value.data();
    return entries;
  } catch (const boost::property_tree::ptree_error& error) {
    throw Error(error.what());
  }
}

std::string tuning_text(const TuningEntries& entries) {
  std::ostringstream text;
  text << "{\n  \"format\": " << kFormat << ",\n  \"devices\": ";
  write_object(text, entries, "\n    ", [&](const TunedKernels& kernels) {
    write_object(text, kernels, "\n      ", [&](const TuningFields& fields) {
      write_object(text, fields, "",
                   [&](const std::string& value) { text << (is_number(value) ? value : quoted(value)); });
    });
  });
  text << "\n}\n";
  return text.str();
}

TuningEntries read_tuning_file() {
  const std::string path = tuning_path();
  if (path.empty() || !fs::exists(path)) return {};
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw Error("it cannot be read");
  return parse_tuning(text.str());
}

void write_tuning_file(const TuningEntries& entries) {
  const std::string path = tuning_path();
  if (path.empty()) throw Error("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set");
  // Under another name first: others may read it meanwhile.
  const std::string part = path + ".part";
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  std::ofstream stream(part);
  stream << tuning_text(entries);
  stream.close();
  if (!stream) throw Error("cannot write " + part);
  fs::rename(part, path, failed);
  if (failed) throw Error("cannot write " + path + ": " + failed.message());
}

}  // namespace rimetree
