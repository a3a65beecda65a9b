// The thesis' design on a GPU, with and without sending its inputs again at every evaluation.
#include <algorithm>
#include <vector>

#include "memory/cuda_device.h"
#include "tests/benchmarks/cuda/baselines.h"
#include "tests/benchmarks/cuda/thesis_design.h"

namespace rimetree::benchmarks {
namespace {

/// The best of its block shapes: 8 times, 16 frequencies.
constexpr unsigned kTimes = 8, kChannels = 16;

__global__ void sum_groups(const __grid_constant__ thesis::Problem p) {
  __shared__ Complex<double> sums[kTimes * kChannels][4];
  const auto t = static_cast<std::int32_t>(blockIdx.y * kTimes + threadIdx.x);
  const auto f = static_cast<std::int32_t>(blockIdx.z * kChannels + threadIdx.y);
  if (t >= p.n_time || f >= p.n_channel) return;
  Complex<double>* sum = sums[threadIdx.y * kTimes + threadIdx.x];
  for (int j = 0; j < 4; ++j) sum[j] = {};
  const auto group = static_cast<std::int32_t>(blockIdx.x);
  thesis::add_group(p, group, t, f, sum);
  for (int j = 0; j < 4; ++j) p.partial[thesis::partial_index(p, j, group, t, f)] = sum[j];
}

__global__ void add_pairs(const __grid_constant__ thesis::Problem p, std::int32_t n) {
  const std::int64_t place = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place < std::int64_t{p.n_channel} * p.n_time)
    thesis::add_pair(p, n, static_cast<int>(blockIdx.z), static_cast<std::int32_t>(blockIdx.y), place);
}

__global__ void reorder_all(const __grid_constant__ thesis::Problem p) {
  const auto i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < p.n_time * p.n_channel) thesis::reorder(p, static_cast<int>(blockIdx.y), i / p.n_channel, i % p.n_channel);
}

unsigned blocks(std::int64_t n, unsigned size) { return static_cast<unsigned>((n + size - 1) / size); }

void evaluate(const thesis::Problem& p, cudaStream_t stream) {
  sum_groups<<<dim3(static_cast<unsigned>(p.n_group()), blocks(p.n_time, kTimes), blocks(p.n_channel, kChannels)),
               dim3(kTimes, kChannels), 0, stream>>>(p);
  const std::int64_t places = std::int64_t{p.n_channel} * p.n_time;
  for (std::int32_t n = p.n_group(); n > 1; n = (n + 1) / 2)
    add_pairs<<<dim3(blocks(places, 256), static_cast<unsigned>(n / 2), 4), 256, 0, stream>>>(p, n);
  reorder_all<<<dim3(blocks(places, 256), 4), 256, 0, stream>>>(p);
  memory::check_cuda(cudaGetLastError(), "launch of the thesis' kernels");
}

}  // namespace

ThesisSeconds time_thesis_design(memory::Device& device, const thesis::Problem& host, int n_evaluation) {
  const auto queue = device.make_queue();
  const cudaStream_t stream = memory::cuda_stream(*queue);
  const auto n_source = static_cast<std::size_t>(host.n_source), n_time = static_cast<std::size_t>(host.n_time),
             n_channel = static_cast<std::size_t>(host.n_channel);
  thesis::Problem p = host;
  struct Input {
    const void* host;
    std::size_t bytes;
    void* d_data;
    bool changes;  // from baseline to baseline
  };
  const auto words = [](std::size_t n) { return n * sizeof(double); };
  Input inputs[] = {{host.uvw, words(6 * n_time), nullptr, true},
                    {host.sigma, words(3 * n_source), nullptr, false},
                    {host.brightness, words(8 * n_source * n_channel), nullptr, false},
                    {host.frequency_hz, words(n_channel), nullptr, false},
                    {host.half_exposure_s, words(n_time), nullptr, false},
                    {host.half_width_hz, words(n_channel), nullptr, false}};
  const std::size_t out_bytes = words(8 * n_time * n_channel);
  const std::size_t partial_bytes = out_bytes * static_cast<std::size_t>(p.n_group());

  // Memory for one evaluation, as the thesis took it: all of it, every time.
  const auto allocate = [&] {
    for (Input& input : inputs) input.d_data = queue->allocate(input.bytes);
    p.uvw = static_cast<const double*>(inputs[0].d_data), p.sigma = static_cast<const double*>(inputs[1].d_data);
    p.brightness = static_cast<const Complex<double>*>(inputs[2].d_data);
    p.frequency_hz = static_cast<const double*>(inputs[3].d_data);
    p.half_exposure_s = static_cast<const double*>(inputs[4].d_data);
    p.half_width_hz = static_cast<const double*>(inputs[5].d_data);
    p.partial = static_cast<Complex<double>*>(queue->allocate(partial_bytes));
    p.out = static_cast<Complex<double>*>(queue->allocate(out_bytes));
  };
  const auto release = [&] {
    for (const Input& input : inputs) queue->deallocate(input.d_data, input.bytes);
    queue->deallocate(p.partial, partial_bytes);
    queue->deallocate(p.out, out_bytes);
  };
  const auto send = [&](bool all) {
    for (const Input& input : inputs)
      if (all || input.changes) queue->copy_to_device(input.d_data, input.host, input.bytes);
  };
  const auto timed = [&](auto&& once) {
    once();  // not counted: the first use of a kernel loads it
    queue->synchronize();
    const double start = seconds_now();
    for (int i = 0; i < n_evaluation; ++i) once();
    queue->synchronize();
    return (seconds_now() - start) / n_evaluation;
  };

  ThesisSeconds seconds;
  seconds.real = timed([&] {
    allocate();
    send(true);
    queue->zero(p.out, out_bytes);
    evaluate(p, stream);
    queue->copy_to_host(host.out, p.out, out_bytes);
    queue->synchronize();
    release();
  });
  allocate();
  send(true);
  seconds.constrained = timed([&] {
    send(false);
    evaluate(p, stream);
    queue->copy_to_host(host.out, p.out, out_bytes);
    queue->synchronize();
  });
  seconds.computation = timed([&] { evaluate(p, stream); });
  release();
  return seconds;
}

}  // namespace rimetree::benchmarks
