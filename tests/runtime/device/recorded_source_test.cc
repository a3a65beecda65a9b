// The text that a recorded program has for compilers at run time: compiled for the host and run beside the operations
// one by one, and compiled by NVRTC where that is there.
#include "runtime/device/recorded_source.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/device/recorded_job.h"
#include "runtime/program/pairs.h"
#include "tests/runtime/program/random_formula.h"

namespace rimetree {
namespace {

using program::Op;
using program::ThreadProgram;

/// What stands for CUDA's language.
constexpr const char* kHost = R"(
#include <cmath>
#include <cstring>
using namespace std;
#define __device__
#define __global__ __attribute__((visibility("default")))
#define __grid_constant__
static struct { unsigned x, y, z; } blockIdx = {0, 0, 0}, threadIdx = {0, 0, 0}, gridDim = {1, 1, 1}, blockDim = {1, 1, 1};
static double __dmul_rn(double a, double b) { return a * b; }
static double __longlong_as_double(unsigned long long bits) { double x; memcpy(&x, &bits, 8); return x; }
)";

/// A kernel compiled for the host; nullptr without a compiler.
class HostKernel {
 public:
  explicit HostKernel(const std::string& source) {
    static int count = 0;
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                         ("recorded_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "text.cc") << kHost << source;
    const std::string command = "c++ -std=c++17 -O1 -ffp-contract=off -shared -fPIC -o " +
                                (folder / "text.so").string() + " " + (folder / "text.cc").string() + " 2>" +
                                (folder / "errors").string();
    if (std::system(command.c_str()) == 0) library_ = dlopen((folder / "text.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    std::stringstream errors;
    errors << std::ifstream(folder / "errors").rdbuf();
    errors_ = errors.str();
    std::filesystem::remove_all(folder);
  }
  ~HostKernel() {
    if (library_ != nullptr) dlclose(library_);
  }
  const std::string& errors() const { return errors_; }
  bool is_there() const { return library_ != nullptr; }
  /// By its bytes, as the text has it.
  void run(const CellJob& job) const {
    struct Bytes {
      unsigned long long words[(sizeof(CellJob) + 7) / 8];
    } bytes;
    std::memcpy(&bytes, &job, sizeof job);
    reinterpret_cast<void (*)(Bytes)>(dlsym(library_, kRecordedKernel))(bytes);
  }

 private:
  void* library_ = nullptr;
  std::string errors_;
};

bool have_compiler() { return std::system("c++ --version >/dev/null 2>&1") == 0; }

/// Two nodes with a real and a complex child each, which vary along different axes, and a derivative of the first
/// child.
struct Scene {
  static constexpr std::size_t kEntries = 3, kTimes = 4, kChannels = 5;
  std::vector<double> numbers, time, frequency, result;
  std::vector<CellArray> children;
  std::vector<CellItem> items;
  std::vector<std::byte*> table;
  CellJob job;

  explicit Scene(std::mt19937_64& random, bool many_arrays) {
    std::normal_distribution<double> normal;
    for (int i = 0; i < 4000; ++i) numbers.push_back(normal(random));
    for (std::size_t i = 0; i < 2 * kTimes; ++i) time.push_back(100 + normal(random));
    for (std::size_t i = 0; i < 2 * kChannels; ++i) frequency.push_back(10 + normal(random));
    const std::size_t cells = kTimes * kChannels;
    result.assign(2 * 2 * kEntries * cells, -7);
    for (std::size_t node = 0; node < 2; ++node) {
      const auto first = static_cast<std::int32_t>(children.size());
      children.push_back(array(300 * node, false, true, false));
      children.push_back(array(700 + 300 * node, true, true, true));
      children.push_back(array(1500 + 100 * node, false, false, true));
      children.emplace_back();  // the second child does not depend on the unknown
      CellItem item;
      item.base = 1;
      item.offset = node * kEntries * cells * 2 * sizeof(double);
      item.n_thread = kEntries * cells;
      item.n_child = 2;
      item.first_child = first;
      item.first_derivative = first + 2;
      item.cells[0] = kTimes;
      item.cells[1] = kChannels;
      items.push_back(item);
    }
    table = {reinterpret_cast<std::byte*>(numbers.data()), reinterpret_cast<std::byte*>(result.data())};
    std::copy(table.begin(), table.end(), job.few);
    if (many_arrays) job.d_many = table.data();
    job.d_item = items.data();
    job.d_child = children.data();
    job.d_time_s = time.data();
    job.d_frequency_hz = frequency.data();
    job.n_item = 2;
    job.n_array = 2;
    job.n_time = kTimes;
    job.n_frequency = kChannels;
    job.most_threads = kEntries * cells;
  }
  static CellArray array(std::size_t first, bool is_complex, bool in_time, bool in_frequency) {
    CellArray array;
    array.base = 0;
    array.offset = first * sizeof(double);
    array.is_complex = is_complex ? 1 : 0;
    array.plane = (in_time ? kTimes : 1) * (in_frequency ? kChannels : 1);
    array.stride[0] = in_time ? (in_frequency ? kChannels : 1) : 0;
    array.stride[1] = in_frequency ? 1 : 0;
    return array;
  }
};

ThreadProgram random_program(std::mt19937_64& random, bool is_complex) {
  program::Recording recording;
  std::vector<std::int32_t> given;
  for (const std::int32_t input : {0, 1, 2})
    for (const bool imaginary : {false, true})
      if (input == 1 || !imaginary)
        given.push_back(recording.load(
            {input, static_cast<std::int32_t>(random() % 2), static_cast<std::int32_t>(random() % 2), imaginary}));
  for (const auto which : {program::Coordinate::time_s, program::Coordinate::time_width_s,
                           program::Coordinate::frequency_hz, program::Coordinate::frequency_width_hz})
    given.push_back(recording.coordinate(which));
  const std::int32_t entry = recording.make(Op::less, given[0], recording.constant(0));  // 1 or 0
  for (const bool imaginary : {false, true}) given.push_back(recording.look_up(entry, {1, 1, 2, imaginary}));
  program::test::Formula formula(given.size(), 60, random);
  for (program::test::Step& step : formula.steps)  // functions of which a compiler's library has its own
    for (const Op op : {Op::sin, Op::cos, Op::exp, Op::hypot, Op::atan2, Op::sinc})
      if (step.op == op) step.op = Op::subtract;
  const std::vector<std::int32_t> names = formula.record(recording, given);
  const program::Output output{.item_stride = 1, .re = names.back(), .im = is_complex ? names[names.size() - 2] : -1};
  return *program::thread_program(recording, {&output, 1}, Scene::kEntries);
}

void run_one_by_one(const ThreadProgram& program, const CellJob& cells, bool is_complex) {
  RecordedJob job;
  job.cells = cells;
  job.is_complex = is_complex ? 1 : 0;
  job.d_operations = program.operations.data();
  job.d_numbers = program.numbers.data();
  job.n_operation = static_cast<std::int32_t>(program.operations.size());
  for (std::int32_t k = 0; k < cells.n_item; ++k)
    for (std::size_t i = 0; i < cells.d_item[k].n_thread; ++i) run_recorded<256>(job, cells.d_item[k], i);
}

TEST(RecordedSource, GivesTheBitsOfTheOperations) {
  if (!have_compiler()) GTEST_SKIP() << "there is no C++ compiler";
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 6; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const bool is_complex = trial % 2 == 0;
    Scene scene(random, trial % 3 == 0);
    const ThreadProgram program = random_program(random, is_complex);
    const HostKernel kernel(recorded_source(program, is_complex));
    ASSERT_TRUE(kernel.is_there()) << kernel.errors();
    run_one_by_one(program, scene.job, is_complex);
    const std::vector<double> expected = scene.result;
    std::fill(scene.result.begin(), scene.result.end(), -7);
    kernel.run(scene.job);
    EXPECT_EQ(std::memcmp(expected.data(), scene.result.data(), expected.size() * sizeof(double)), 0);
    EXPECT_NE(expected.front(), -7);
  }
}

/// All operations of one number or two.
std::vector<Op> functions() {
  std::vector<Op> all;
  for (int i = 0; i < program::kOps; ++i) {
    const Op op = static_cast<Op>(i);
    const int n = program::operands_of(op);
    const bool is_function = op != Op::sin_cos && op != Op::look_up && !program::is_of_pairs(op);
    if ((n == 1 || n == 2) && is_function) all.push_back(op);
  }
  return all;
}

/// Each function as an element of the result: of the first child, made positive and less than 1, and a number.
ThreadProgram all_functions() {
  program::Recording recording;
  const std::int32_t load = recording.make(Op::absolute, recording.load({}));
  const std::int32_t x = recording.make(Op::divide, load, recording.make(Op::add, load, recording.constant(1)));
  std::vector<program::Output> outputs;
  for (const Op op : functions())
    outputs.push_back({.element = static_cast<std::int32_t>(outputs.size()),
                       .re = recording.make(op, x, program::operands_of(op) > 1 ? recording.constant(0.7) : -1)});
  return *program::thread_program(recording, outputs, 1);
}

TEST(RecordedSource, FunctionsAreThoseOfTheirNames) {
  if (!have_compiler()) GTEST_SKIP() << "there is no C++ compiler";
  std::mt19937_64 random(4);
  Scene scene(random, false);
  const ThreadProgram program = all_functions();
  const HostKernel kernel(recorded_source(program, false));
  ASSERT_TRUE(kernel.is_there()) << kernel.errors();
  scene.result.assign(2 * functions().size() * Scene::kTimes * Scene::kChannels, -7);
  scene.job.few[1] = reinterpret_cast<std::byte*>(scene.result.data());
  for (CellItem& item : scene.items) item.n_thread = Scene::kTimes * Scene::kChannels;
  scene.job.n_item = 1;
  run_one_by_one(program, scene.job, false);
  const std::vector<double> expected = scene.result;
  std::fill(scene.result.begin(), scene.result.end(), -7);
  kernel.run(scene.job);
  // Both are within an ulp or two of the true value.
  for (std::size_t i = 0; i < expected.size() / 2; ++i)
    EXPECT_NEAR(scene.result[i], expected[i], 1e-15 * (1 + std::abs(expected[i]))) << i;
}

TEST(RecordedSource, NvrtcTakesIt) {
  void* library = nullptr;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("/usr/local/cuda/lib64/libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "there is no NVRTC";
  // As its header declares them.
  const auto create =
      reinterpret_cast<int (*)(void**, const char*, const char*, int, const char* const*, const char* const*)>(
          dlsym(library, "nvrtcCreateProgram"));
  const auto compile = reinterpret_cast<int (*)(void*, int, const char* const*)>(dlsym(library, "nvrtcCompileProgram"));
  const auto log_size = reinterpret_cast<int (*)(void*, std::size_t*)>(dlsym(library, "nvrtcGetProgramLogSize"));
  const auto log = reinterpret_cast<int (*)(void*, char*)>(dlsym(library, "nvrtcGetProgramLog"));
  const auto destroy = reinterpret_cast<int (*)(void**)>(dlsym(library, "nvrtcDestroyProgram"));
  std::mt19937_64 random(5);
  for (const ThreadProgram& program : {random_program(random, true), all_functions()}) {
    const std::string source = recorded_source(program, program.n_item > 1);
    void* made = nullptr;
    ASSERT_EQ(create(&made, source.c_str(), "recorded.cu", 0, nullptr, nullptr), 0);
    const char* options[] = {"-arch=sm_90", "-fmad=false"};
    const int status = compile(made, 2, options);
    std::size_t bytes = 0;
    log_size(made, &bytes);
    std::string text(bytes, ' ');
    log(made, text.data());
    EXPECT_EQ(status, 0) << text;
    destroy(&made);
  }
}

}  // namespace
}  // namespace rimetree
