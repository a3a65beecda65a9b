#include "nodes/psv/device/tuning.h"

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "nodes/psv/device/job.h"
#include "runtime/error.h"

namespace rimetree::psv {
namespace {

namespace fs = std::filesystem;
using Tree = boost::property_tree::ptree;

/// Raised when variants mean something else than before.
constexpr int kFormat = 1;
constexpr const char* kPrecisions[] = {"double", "single"};

std::mutex mutex;
struct Read {
  DeviceTunings tunings;
  std::string warning;
};
std::optional<Read> file;

const char* unit_name(MatrixUnitKind unit) { return unit == MatrixUnitKind::kTensor ? "tensor" : "plain"; }

/// A part of the peak; the model of costs may be pessimistic, but not by much.
double efficiency_in(const Tree& tree) {
  const double value = tree.get<double>("efficiency");
  if (!(value > 0 && value < 10)) throw Error("\"efficiency\" must be positive and below 10");
  return value;
}

DirectTuning direct_in(const Tree& tree) {
  const auto threads = tree.get<std::int32_t>("threads");
  if (std::find(std::begin(DeviceShape::kThreadVariants), std::end(DeviceShape::kThreadVariants), threads) ==
      std::end(DeviceShape::kThreadVariants))
    throw Error("the direct kernel has no variant of " + std::to_string(threads) + " threads");
  return {threads, efficiency_in(tree), true};
}

MatrixTuning matrix_in(const Tree& tree) {
  const auto unit = tree.get<std::string>("unit");
  const MatrixVariant wanted{
      unit == unit_name(MatrixUnitKind::kTensor) ? MatrixUnitKind::kTensor : MatrixUnitKind::kPlain,
      tree.get<std::int32_t>("tile"), tree.get<std::int32_t>("warps")};
  for (const MatrixVariant& variant : kMatrixVariants)
    if (variant == wanted && unit == unit_name(variant.unit)) return {variant, efficiency_in(tree), true};
  throw Error("the matrix kernel has no variant \"" + unit + "\" of such a tile and number of warps");
}

DeviceTuning device_in(const Tree& tree) {
  DeviceTuning tuning;
  for (int single = 0; single < 2; ++single) {
    if (const auto found = tree.get_child_optional(std::string("direct ") + kPrecisions[single]))
      tuning.direct[single] = direct_in(*found);
    if (const auto found = tree.get_child_optional(std::string("matrix ") + kPrecisions[single]))
      tuning.matrix[single] = matrix_in(*found);
  }
  return tuning;
}

Read read_file() {
  const std::string path = tuning_path();
  if (path.empty() || !fs::exists(path)) return {};
  try {
    std::ifstream stream(path);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream) throw Error("it cannot be read");
    return {parse_tuning(text.str()), ""};
  } catch (const std::exception& error) {
    return {{}, path + " is not used: " + error.what() + "; make it again with `rimetree bench tune`"};
  }
}

const Read& file_read() {
  if (!file) file = read_file();
  return *file;
}

std::string quoted(const std::string& text) {
  std::string to = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') to += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) to += c;
  }
  return to + '"';
}

}  // namespace

std::string tuning_name(const std::string& device_name) {
  const std::size_t number = device_name.rfind(" (");
  return number == std::string::npos ? device_name : device_name.substr(0, number);
}

std::string tuning_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/rimetree/tuning.json";
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.cache/rimetree/tuning.json";
}

DeviceTunings parse_tuning(const std::string& json) {
  Tree tree;
  std::istringstream stream(json);
  try {
    boost::property_tree::read_json(stream, tree);
    if (tree.get<int>("format") != kFormat) throw Error("it is of another format");
    DeviceTunings tunings;
    for (const auto& [name, device] : tree.get_child("devices")) tunings[name] = device_in(device);
    return tunings;
  } catch (const boost::property_tree::ptree_error& error) {
    throw Error(error.what());
  }
}

std::string tuning_text(const DeviceTunings& tunings) {
  std::ostringstream text;
  text << "{\n  \"format\": " << kFormat << ",\n  \"devices\": {";
  const char* before_device = "\n";
  for (const auto& [name, tuning] : tunings) {
    text << before_device << "    " << quoted(name) << ": {";
    before_device = ",\n";
    const char* before = "\n";
    for (int single = 0; single < 2; ++single) {
      char line[200];
      const DirectTuning& direct = tuning.direct[single];
      const MatrixTuning& matrix = tuning.matrix[single];
      if (direct.measured) {
        std::snprintf(line, sizeof line, "      \"direct %s\": {\"threads\": %d, \"efficiency\": %.3g}",
                      kPrecisions[single], int(direct.threads), direct.efficiency);
        text << before << line;
        before = ",\n";
      }
      if (matrix.measured && matrix.variant) {
        std::snprintf(line, sizeof line,
                      "      \"matrix %s\": {\"unit\": \"%s\", \"tile\": %d, \"warps\": %d, \"efficiency\": %.3g}",
                      kPrecisions[single], unit_name(matrix.variant->unit), int(matrix.variant->tile),
                      int(matrix.variant->warps), matrix.efficiency);
        text << before << line;
        before = ",\n";
      }
    }
    text << "\n    }";
  }
  text << "\n  }\n}\n";
  return text.str();
}

DeviceTuning tuning_of(const std::string& device_name, std::string* warning) {
  const std::lock_guard lock(mutex);
  const Read& read = file_read();
  if (warning != nullptr) *warning = read.warning;
  const auto found = read.tunings.find(tuning_name(device_name));
  return found == read.tunings.end() ? DeviceTuning() : found->second;
}

void store_tuning(const std::string& device_name, const DeviceTuning& tuning) {
  const std::lock_guard lock(mutex);
  const std::string path = tuning_path();
  if (path.empty()) throw Error("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set");
  DeviceTunings tunings = read_file().tunings;
  tunings[tuning_name(device_name)] = tuning;
  // Under another name first: others may read it meanwhile.
  const std::string part = path + ".part";
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  {
    std::ofstream stream(part);
    stream << tuning_text(tunings);
    stream.close();
    if (!stream) throw Error("cannot write " + part);
  }
  fs::rename(part, path, failed);
  if (failed) throw Error("cannot write " + path + ": " + failed.message());
  file.reset();
}

void forget_tuning() {
  const std::lock_guard lock(mutex);
  file.reset();
}

}  // namespace rimetree::psv
