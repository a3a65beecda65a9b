#include "nodes/psv/planner/tuning.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "runtime/core/error.h"
#include "runtime/device/tuning_file.h"

namespace rimetree::psv::planner {
namespace {

constexpr const char* kPrecisions[] = {"double", "single"};
constexpr const char *kTensor = "tensor", *kPlain = "plain";
constexpr const char *kOfAntennas = "antennas", *kOfRows = "rows";

std::mutex mutex;
struct Read {
  std::map<std::string, DeviceTuning> tunings;
  std::string warning;
};
std::optional<Read> file;

const std::string& field(const TuningFields& fields, const std::string& name) {
  const auto found = fields.find(name);
  if (found == fields.end()) throw Error("\"" + name + "\" is missing");
  return found->second;
}
double number(const TuningFields& fields, const std::string& name) {
  const std::string& text = field(fields, name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw Error("\"" + name + "\" is no number: " + text);
  return value;
}
/// A part of the peak; the model of costs may be pessimistic, but not by much.
double efficiency_in(const TuningFields& fields) {
  const double value = number(fields, "efficiency");
  if (!(value > 0 && value < 10)) throw Error("\"efficiency\" must be positive and below 10");
  return value;
}

DirectTuning direct_in(const TuningFields& fields) {
  const std::string& phasors = field(fields, "phasors");
  if (phasors != kOfAntennas && phasors != kOfRows)
    throw Error("the direct kernel has no variant with phasors of \"" + phasors + "\"");
  return {phasors == kOfAntennas ? PhasorsOf::kAntennas : PhasorsOf::kRows, efficiency_in(fields), true};
}

MatrixTuning matrix_in(const TuningFields& fields) {
  const std::string& unit = field(fields, "unit");
  const auto tile = static_cast<std::int32_t>(number(fields, "tile")),
             warps = static_cast<std::int32_t>(number(fields, "warps"));
  for (const MatrixVariant& variant : kMatrixVariants)
    if (variant.tile == tile && variant.warps == warps &&
        unit == (variant.unit == MatrixUnitKind::kTensor ? kTensor : kPlain))
      return {variant, efficiency_in(fields), true};
  throw Error("the matrix kernel has no variant \"" + unit + "\" of such a tile and number of warps");
}

DeviceTuning device_in(const TunedKernels& kernels) {
  DeviceTuning tuning;
  for (int single = 0; single < 2; ++single) {
    const auto direct = kernels.find(std::string("direct ") + kPrecisions[single]);
    if (direct != kernels.end()) tuning.direct[single] = direct_in(direct->second);
    const auto matrix = kernels.find(std::string("matrix ") + kPrecisions[single]);
    if (matrix != kernels.end()) tuning.matrix[single] = matrix_in(matrix->second);
  }
  return tuning;
}

std::string efficiency_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

TunedKernels kernels_of(const DeviceTuning& tuning) {
  TunedKernels kernels;
  for (int single = 0; single < 2; ++single) {
    const DirectTuning& direct = tuning.direct[single];
    const MatrixTuning& matrix = tuning.matrix[single];
    if (direct.measured)
      kernels[std::string("direct ") + kPrecisions[single]] = {
          {"phasors", direct.phasors == PhasorsOf::kAntennas ? kOfAntennas : kOfRows},
          {"efficiency", efficiency_text(direct.efficiency)}};
    if (matrix.measured && matrix.variant)
      kernels[std::string("matrix ") + kPrecisions[single]] = {
          {"unit", matrix.variant->unit == MatrixUnitKind::kTensor ? kTensor : kPlain},
          {"tile", std::to_string(matrix.variant->tile)},
          {"warps", std::to_string(matrix.variant->warps)},
          {"efficiency", efficiency_text(matrix.efficiency)}};
  }
  return kernels;
}

Read read_file() {
  Read read;
  try {
    for (const auto& [name, kernels] : read_tuning_file()) read.tunings[name] = device_in(kernels);
  } catch (const std::exception& error) {
    return {{}, tuning_path() + " is not used: " + error.what() + "; make it again with `rimetree bench tune`"};
  }
  return read;
}

/// The name by which a device is tuned, without its number: all cards of one type are alike.
std::string type_of(const std::string& device_name) {
  const std::size_t number = device_name.rfind(" (");
  return number == std::string::npos ? device_name : device_name.substr(0, number);
}

}  // namespace

DeviceTuning tuning_of(const std::string& device_name, std::string* warning) {
  const std::lock_guard lock(mutex);
  if (!file) file = read_file();
  if (warning != nullptr) *warning = file->warning;
  const auto found = file->tunings.find(type_of(device_name));
  return found == file->tunings.end() ? DeviceTuning() : found->second;
}

void store_tuning(const std::string& device_name, const DeviceTuning& tuning) {
  const std::lock_guard lock(mutex);
  TuningEntries entries;
  // What made no sense is lost, with the warning that it gave.
  if (read_file().warning.empty()) entries = read_tuning_file();
  entries[type_of(device_name)] = kernels_of(tuning);
  write_tuning_file(entries);
  file.reset();
}

void forget_tuning() {
  const std::lock_guard lock(mutex);
  file.reset();
}

}  // namespace rimetree::psv::planner
