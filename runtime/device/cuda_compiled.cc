#include "runtime/device/cuda_compiled.h"

#include <nvrtc.h>

#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "memory/optional_library.h"
#include "runtime/core/environment.h"
#include "runtime/device/recorded_source.h"

namespace rimetree {

namespace {

/// The compiler's functions.
struct Nvrtc {
  memory::OptionalLibrary library{"libnvrtc.so." + std::to_string(CUDART_VERSION / 1000)};
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetCUBINSize) size = nullptr;
  decltype(&nvrtcGetCUBIN) get = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;

  Nvrtc() {
    library.find("nvrtcCreateProgram", create);
    library.find("nvrtcCompileProgram", compile);
    library.find("nvrtcGetCUBINSize", size);
    library.find("nvrtcGetCUBIN", get);
    library.find("nvrtcDestroyProgram", destroy);
  }
};
const Nvrtc& nvrtc() {
  static const Nvrtc functions;
  return functions;
}

/// Machine code; empty where the compiler refuses.
std::vector<char> compiled(const std::string& source, int device) {
  int major = 0, minor = 0;
  memory::check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "capability");
  memory::check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "capability");
  const std::string card = "-arch=sm_" + std::to_string(10 * major + minor);
  const char* options[] = {card.c_str(), "-fmad=false"};
  nvrtcProgram program = nullptr;
  std::vector<char> code;
  std::size_t bytes = 0;
  if (nvrtc().create(&program, source.c_str(), "recorded.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) return code;
  if (nvrtc().compile(program, 2, options) == NVRTC_SUCCESS && nvrtc().size(program, &bytes) == NVRTC_SUCCESS) {
    code.resize(bytes);
    if (nvrtc().get(program, code.data()) != NVRTC_SUCCESS) code.clear();
  }
  nvrtc().destroy(&program);
  return code;
}

/// What has been done with one program on one device. Kernels stay until the process ends.
struct Known {
  double operations = 0;
  bool was_tried = false;
  cudaKernel_t kernel = nullptr;
};

double worth_compiling() {
  const std::optional<bool> said = yes_or_no("RIMETREE_COMPILE");
  if (!said) return kWorthCompiling;
  return *said ? 0 : std::numeric_limits<double>::infinity();
}

cudaKernel_t load(const std::vector<char>& code) {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  if (code.empty() ||
      cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) != cudaSuccess ||
      cudaLibraryGetKernel(&kernel, library, kRecordedKernel) != cudaSuccess) {
    cudaGetLastError();  // forgotten: the program is run operation by operation
    return nullptr;
  }
  return kernel;
}

}  // namespace

cudaKernel_t compiled_kernel(const RecordedJob& job) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, Known> all;
  static const double worth = worth_compiling();
  if (!nvrtc().library.is_there() || worth == std::numeric_limits<double>::infinity()) return nullptr;
  int device = 0;
  memory::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  // The operations and constants are what a program is.
  const auto bytes = [](const auto& all) {
    return std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof all[0]);
  };
  std::string name = bytes(job.program->operations) + bytes(job.program->numbers) + (job.is_complex != 0 ? "c" : "r");
  const std::lock_guard lock(mutex);
  Known& known = all[{device, std::move(name)}];
  known.operations += static_cast<double>(job.cells.n_item) * static_cast<double>(job.cells.most_threads) *
                      static_cast<double>(job.n_operation);
  if (!known.was_tried && known.operations >= worth) {
    known.was_tried = true;
    known.kernel = load(compiled(recorded_source(*job.program, job.is_complex != 0), device));
  }
  return known.kernel;
}

}  // namespace rimetree
