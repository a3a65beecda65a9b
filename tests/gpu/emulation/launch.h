// How kernels reach the emulated device: what the transformed sources and the emulated runtime have in common.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rimetree::emulation {

/// What stands between <<< and >>>. Unlike there, all four must be given, so that nothing runs on the default stream.
struct LaunchShape {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

/// A kernel with its arguments, which are copied when it is launched as CUDA does.
struct Launch {
  const void* kernel;
  std::size_t parameter_bytes;
  LaunchShape shape;
  std::function<void()> thread;  ///< what each thread executes
};

/// Puts a kernel into its stream, or sets the error that cudaGetLastError() returns. Holds launches to CUDA's limits.
void enqueue(Launch launch);

/// kernel<<<shape>>>(arguments...).
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, Arguments&&... arguments) {
  using Copies = std::tuple<std::decay_t<Parameters>...>;
  const auto copies = std::make_shared<Copies>(std::forward<Arguments>(arguments)...);
  enqueue({reinterpret_cast<const void*>(kernel), (sizeof(Parameters) + ... + 0), shape,
           [kernel, copies] { std::apply(kernel, *copies); }});
}

}  // namespace rimetree::emulation
