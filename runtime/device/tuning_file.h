// The file in the user's cache folder that says which variants of kernels are the fastest on which device: JSON, a
// device's name to the names of kernels, and those to fields that only the kernels' library understands.
#pragma once

#include <map>
#include <string>

namespace rimetree {

using TuningFields = std::map<std::string, std::string>;    ///< of one kernel: names to numbers or words
using TunedKernels = std::map<std::string, TuningFields>;   ///< of one device
using TuningEntries = std::map<std::string, TunedKernels>;  ///< by the device's name

/// $XDG_CACHE_HOME/rimetree/tuning.json, or the same in ~/.cache; empty where there is no such folder.
std::string tuning_path();

/// The entries of a text; throws Error saying what is wrong with it.
TuningEntries parse_tuning(const std::string& json);
std::string tuning_text(const TuningEntries& entries);

/// The entries of the file; none where there is no file. Throws Error.
TuningEntries read_tuning_file();
/// Replaces the file, completely or not at all. Throws Error.
void write_tuning_file(const TuningEntries& entries);

}  // namespace rimetree
