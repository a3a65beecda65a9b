// PSV on a GPU, and the baselines on the same card: source-visibilities per second (one source, baseline, time and
// channel, all correlations), end to end and by the kernel alone.
//
//   gpu_psv_benchmark [sources [antennas [times [channels [repeats]]]]]      default: 1000 64 10 64 5
//
// Without a GPU it says so, measures nothing and ends with status 1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "memory/cuda_device.h"
#include "nodes/psv/matrix/plan.h"
#include "nodes/psv/planner/device_solve.h"
#include "tests/benchmarks/cuda/baselines.h"
#include "tests/support/psv_array_case.h"

namespace {

using namespace rimetree;

int n_repeat = 5;

void print(const char* what, double source_visibilities, double seconds) {
  std::printf("%-58s %10.3f ms  %10.3g source-visibilities/s\n", what, 1e3 * seconds, source_visibilities / seconds);
}

/// Seconds per time-slot group: rows from host memory, visibilities to host memory, the sky on the device already. 0
/// where the matrix product is not possible.
double time_ours(DeviceContexts& devices, const testing::ArrayCase& c, bool single,
                 const psv::planner::MethodWish& wish) {
  const psv::Sky<double> sky = psv::pack_sky<double>(c.sky_input());
  const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
  const psv::JonesTerms jones;
  std::vector<Complex<double>> out(c.n_row() * 4 * c.n_channel());
  std::vector<Complex<double>*> row;
  for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(out.data() + r * 4 * c.n_channel());
  const psv::Output output{row.data(), static_cast<std::ptrdiff_t>(c.n_channel())};
  const psv::Rows rows = c.psv_rows();
  const psv::Summed of{sky, channels, rows, jones, 1, psv::version_of(sky), c.ends};
  const double tolerance = single ? 1e-6 : 1e-12;
  ThreadPool threads;
  if (wish.kind == psv::planner::MethodWish::Kind::kMatrix &&
      !psv::matrix::matrix_plan(of, {}, tolerance, threads).obstacle.empty())
    return 0;
  Cancellation cancellation;
  const psv::planner::Machine machine{devices, threads, cancellation};
  psv::planner::solve_on_devices(of, output, tolerance, machine, wish);
  const double start = benchmarks::seconds_now();
  for (int i = 0; i < n_repeat; ++i) psv::planner::solve_on_devices(of, output, tolerance, machine, wish);
  return (benchmarks::seconds_now() - start) / n_repeat;
}

/// Direct and, by every variant, matrix product.
void ours_on(DeviceContexts& devices, const testing::ArrayCase& c, bool single) {
  const double work = double(c.options.n_source) * double(c.n_row()) * double(c.n_channel());
  const std::string what =
      std::string(c.options.polarisation == testing::Polarisation::kFull ? "all Stokes" : "Stokes I") +
      (c.options.smearing ? ", smearing, " : ", ") + (single ? "single, " : "double, ");
  using psv::planner::PhasorsOf;
  for (const PhasorsOf phasors : {PhasorsOf::kAntennas, PhasorsOf::kRows})
    print((what + "direct, phasors of " + (phasors == PhasorsOf::kAntennas ? "antennas" : "rows")).c_str(), work,
          time_ours(devices, c, single, {psv::planner::MethodWish::Kind::kDirect, {}, phasors}));
  for (const psv::matrix::MatrixVariant& variant : psv::matrix::kMatrixVariants) {
    const double seconds = time_ours(devices, c, single, {psv::planner::MethodWish::Kind::kMatrix, variant});
    if (seconds == 0) {
      std::printf("%smatrix product: not possible\n", what.c_str());
      return;
    }
    char text[60];
    std::snprintf(text, sizeof text, "matrix %s %d x %d warps",
                  variant.unit == psv::matrix::MatrixUnitKind::kTensor ? "tensor" : "plain", variant.tile,
                  variant.warps);
    print((what + text).c_str(), work, seconds);
  }
}

void thesis_on(memory::Device& device, const testing::Case& c) {
  thesis::Problem p;
  p.n_source = static_cast<std::int32_t>(c.options.n_source), p.n_time = static_cast<std::int32_t>(c.options.n_time);
  p.n_channel = static_cast<std::int32_t>(c.n_channel());
  std::vector<double> uvw, sigma, half_exposure(c.options.n_time, 1.0), half_width(c.n_channel(), 1e4);
  for (const auto* axis : {&c.uvw[0], &c.uvw[1], &c.uvw[2], &c.uvw[0], &c.uvw[1], &c.uvw[2]})
    uvw.insert(uvw.end(), axis->begin(), axis->begin() + p.n_time);
  for (const auto* axis : {&c.l, &c.m, &c.n}) sigma.insert(sigma.end(), axis->begin(), axis->end());
  std::vector<Complex<double>> brightness(4 * c.options.n_source * c.n_channel(), 1.0);
  std::vector<Complex<double>> out(c.options.n_time * c.n_channel() * 4);
  p.uvw = uvw.data(), p.sigma = sigma.data(), p.brightness = brightness.data(), p.frequency_hz = c.frequency.data();
  p.half_exposure_s = half_exposure.data(), p.half_width_hz = half_width.data(), p.out = out.data();
  const benchmarks::ThesisSeconds seconds = benchmarks::time_thesis_design(device, p, 50);
  const double work = double(c.options.n_source) * double(c.options.n_time) * double(c.n_channel());
  print("thesis' design, one baseline, inputs sent every time", work, seconds.real);
  print("thesis' design, needed copies only", work, seconds.constrained);
  print("thesis' design, kernels only", work, seconds.computation);
}

void cub_on(memory::Device& device, const testing::Case& c) {
  std::vector<double> uvw, sigma, flux(c.options.n_source, 1.0);
  for (const auto& axis : c.uvw) uvw.insert(uvw.end(), axis.begin(), axis.end());
  for (const auto* axis : {&c.l, &c.m}) sigma.insert(sigma.end(), axis->begin(), axis->end());
  for (const double n : c.n) sigma.push_back(n - 1);
  const benchmarks::PlainSum sum{static_cast<std::int32_t>(c.options.n_source),
                                 static_cast<std::int32_t>(c.n_row()),
                                 static_cast<std::int32_t>(c.n_channel()),
                                 uvw.data(),
                                 sigma.data(),
                                 flux.data(),
                                 c.frequency.data()};
  print("CUB segmented reduction, Stokes I, no smearing, kernel only",
        double(c.options.n_source) * double(c.n_row()) * double(c.n_channel()),
        benchmarks::time_cub_sum(device, sum, 3));
}

}  // namespace

int main(int argc, char** argv) {
  if (memory::cuda_device_count() == 0) {
    std::printf("no GPU here (%s): nothing measured\n", memory::why_no_cuda_device().c_str());
    return 1;
  }
  const auto argument = [&](int i, std::size_t otherwise) {
    return argc > i ? static_cast<std::size_t>(std::strtoull(argv[i], nullptr, 10)) : otherwise;
  };
  testing::CaseOptions o;
  testing::ArrayOptions array;
  o.n_source = argument(1, 1000), array.n_antenna = static_cast<int>(argument(2, 64)), o.n_time = argument(3, 10);
  o.n_channel = argument(4, 64), n_repeat = std::max(1, static_cast<int>(argument(5, 5)));
  o.exposure_s = 0.5, o.spacing_hz = 5e4;  // phases change by a few tenths of a radian over a cell
  DeviceContexts devices = open_devices({"cuda:0", 0});
  std::printf("%s: %zu sources, %d antennas, %zu times, %zu channels\n", devices[0]->device().name().c_str(),
              o.n_source, array.n_antenna, o.n_time, o.n_channel);
  for (const auto polarisation : {testing::Polarisation::kUnpolarised, testing::Polarisation::kFull})
    for (const bool smearing : {false, true})
      for (const bool single : {false, true}) {
        o.polarisation = polarisation, o.smearing = smearing;
        ours_on(devices, testing::ArrayCase(o, array), single);
      }
  o.smearing = false;
  const testing::ArrayCase c(o, array);
  cub_on(devices[0]->device(), c);
  thesis_on(devices[0]->device(), c);
}
