// The plain sum as a library's segmented reduction: one segment per visibility, one generated term per source.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_segmented_reduce.cuh>

#include "memory/cuda_device.h"
#include "tests/benchmarks/cuda/baselines.h"
#include "tests/support/device_buffer.h"

namespace rimetree::benchmarks {
namespace {

/// Term number i of all: source i % S of visibility i / S, channels fastest.
struct Term {
  PlainSum p;
  RT_HD Complex<double> operator()(std::int64_t i) const {
    const auto s = static_cast<std::int32_t>(i % p.n_source);
    const std::int64_t visibility = i / p.n_source;
    const std::int64_t row = visibility / p.n_channel, f = visibility % p.n_channel;
    double path = 0;
    for (int k = 0; k < 3; ++k) path += p.uvw[k * p.n_row + row] * p.sigma[k * p.n_source + s];
    return polar(p.flux[s], 2 * kPi / kSpeedOfLight_m_s * p.frequency_hz[f] * path);
  }
};
struct Add {
  RT_HD Complex<double> operator()(Complex<double> a, Complex<double> b) const { return a + b; }
};
struct SegmentStart {
  std::int64_t n_source;
  RT_HD std::int64_t operator()(std::int64_t visibility) const { return visibility * n_source; }
};

}  // namespace

double time_cub_sum(memory::Device& device, const PlainSum& host, int n_evaluation) {
  const auto queue = device.make_queue();
  const cudaStream_t stream = memory::cuda_stream(*queue);
  const auto input = [&device](const double* values, std::size_t n) {
    return test::DeviceBuffer<double>(device, std::span<const double>(values, n));
  };
  const auto n_source = static_cast<std::size_t>(host.n_source), n_row = static_cast<std::size_t>(host.n_row);
  const auto uvw = input(host.uvw, 3 * n_row), sigma = input(host.sigma, 3 * n_source),
             flux = input(host.flux, n_source),
             frequency = input(host.frequency_hz, static_cast<std::size_t>(host.n_channel));
  PlainSum p = host;
  p.uvw = uvw.data(), p.sigma = sigma.data(), p.flux = flux.data(), p.frequency_hz = frequency.data();
  const std::int64_t n_visibility = std::int64_t{host.n_row} * host.n_channel;
  test::DeviceBuffer<Complex<double>> out(device, static_cast<std::size_t>(n_visibility));

  const auto terms = thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), Term{p});
  const auto starts =
      thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), SegmentStart{host.n_source});
  const auto reduce = [&](void* d_scratch, std::size_t& bytes) {
    memory::check_cuda(cub::DeviceSegmentedReduce::Reduce(d_scratch, bytes, terms, out.data(), n_visibility, starts,
                                                          starts + 1, Add{}, Complex<double>(), stream),
                       "cub::DeviceSegmentedReduce");
  };
  std::size_t bytes = 0;
  reduce(nullptr, bytes);
  void* d_scratch = queue->allocate(bytes);
  reduce(d_scratch, bytes);
  queue->synchronize();
  const double start = seconds_now();
  for (int i = 0; i < n_evaluation; ++i) reduce(d_scratch, bytes);
  queue->synchronize();
  const double seconds = (seconds_now() - start) / n_evaluation;
  queue->deallocate(d_scratch, bytes);
  return seconds;
}

}  // namespace rimetree::benchmarks
