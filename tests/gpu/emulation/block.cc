#include "tests/gpu/emulation/block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/gpu/emulation/matrix_units.h"
#include "tests/gpu/emulation/settings.h"

#ifndef __x86_64__
#error "switching between fibers is written for x86-64 only"
#endif

// Saves what a called function must keep, and the stack; goes on with another fiber where that was left.
extern "C" void rimetree_switch_fiber(void** save_stack, void* to_stack);
asm(R"(
.text
.type rimetree_switch_fiber, @function
rimetree_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rimetree_switch_fiber, .-rimetree_switch_fiber
)");

namespace rimetree::emulation {

uint3 thread_index, block_index;
dim3 block_size, grid_size;

namespace {

constexpr std::size_t kStack = std::size_t{256} << 10, kPage = 4096, kAlignment = 128;
constexpr std::size_t kStaticShared = std::size_t{48} << 10;
constexpr int kWarp = 32, kKeptRegisters = 6, kUnset = 0xff;

enum class State { kReady, kAtBarrier, kInWarp, kDone };

/// A thread of a block: where it stands, and what it waits for.
struct Fiber {
  char* memory;           ///< of its stack
  void* stack = nullptr;  ///< its stack pointer while it does not run
  State state = State::kDone;
  const char* file = nullptr;  ///< of the barrier that it waits at
  int line = 0;
  Fragments fragments{};  ///< of the matrix instruction that it waits in
};

/// The block of threads that runs. Only one does at a time, under the device's mutex.
class Block {
 public:
  void run(const Launch& launch, int threads);
  /// Called by the fiber that runs: goes back to run(), until the state is kReady again.
  void wait(State state);
  Fiber& running() { return fibers_[running_]; }
  unsigned char* dynamic_shared() { return shared_; }
  void share(void* variable, std::size_t bytes);

 private:
  static void enter();
  void prepare(const Launch& launch, int threads);
  bool run_ready();
  bool run_warps();
  void pass_barrier();

  std::vector<Fiber> fibers_;  ///< as many as any block had
  std::vector<std::size_t> order_;
  std::vector<unsigned char> shared_memory_;
  unsigned char* shared_ = nullptr;
  std::set<void*> static_shared_;
  std::size_t static_bytes_ = 0;
  const Launch* launch_ = nullptr;
  std::size_t running_ = 0;
  void* scheduler_stack_ = nullptr;
};

Block& block() {
  static auto* const only = new Block;
  return *only;
}

void Block::enter() {
  block().launch_->thread();
  block().wait(State::kDone);
}

void Block::prepare(const Launch& launch, int threads) {
  launch_ = &launch;
  order_.resize(static_cast<std::size_t>(threads));
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  while (fibers_.size() < order_.size()) {
    void* const memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kPage, PROT_NONE) != 0) stop("no memory for stacks of threads");
    fibers_.push_back({static_cast<char*>(memory)});
  }
  for (const std::size_t i : order_) {
    // As if enter() had been called (with a return address that is null) and had then switched to another fiber.
    auto* top = reinterpret_cast<void**>(fibers_[i].memory + kStack - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&Block::enter);
    for (int r = 0; r < kKeptRegisters; ++r) *--top = nullptr;
    fibers_[i].stack = top;
    fibers_[i].state = State::kReady;
  }
  shared_memory_.assign(launch.shape.shared_bytes + kAlignment, kUnset);
  const auto address = reinterpret_cast<std::uintptr_t>(shared_memory_.data());
  shared_ = shared_memory_.data() + (kAlignment - address % kAlignment) % kAlignment;
  static_shared_.clear();
  static_bytes_ = 0;
}

void Block::wait(State state) {
  Fiber& self = running();
  self.state = state;
  rimetree_switch_fiber(&self.stack, scheduler_stack_);
}

/// Lets all threads that can run do so, in random order. Whether any could.
bool Block::run_ready() {
  std::shuffle(order_.begin(), order_.end(), generator());
  bool any = false;
  for (const std::size_t i : order_) {
    if (fibers_[i].state != State::kReady) continue;
    any = true;
    running_ = i;
    const auto thread = static_cast<unsigned>(i);
    thread_index = {thread % block_size.x, thread / block_size.x % block_size.y, thread / block_size.x / block_size.y};
    rimetree_switch_fiber(&scheduler_stack_, fibers_[i].stack);
  }
  return any;
}

/// Multiplies for the warps whose threads are all in a matrix instruction. Whether there were any.
bool Block::run_warps() {
  bool any = false;
  for (std::size_t first = 0; first < order_.size(); first += kWarp) {
    const auto begin = fibers_.begin() + static_cast<long>(first);
    const auto end = begin + std::min<long>(kWarp, static_cast<long>(order_.size() - first));
    const auto waiting = std::count_if(begin, end, [](const Fiber& f) { return f.state == State::kInWarp; });
    if (waiting == 0) continue;
    Fragments lanes[kWarp];
    const bool same =
        std::all_of(begin, end, [&](const Fiber& f) { return f.fragments.unit == begin->fragments.unit; });
    if (waiting != kWarp || !same) stop("the threads of a warp are not in the same matrix instruction");
    std::transform(begin, end, lanes, [](const Fiber& f) { return f.fragments; });
    multiply(lanes);
    std::for_each(begin, end, [](Fiber& f) { f.state = State::kReady; });
    any = true;
  }
  return any;
}

void Block::pass_barrier() {
  const Fiber& first = fibers_[0];
  for (std::size_t i = 0; i < order_.size(); ++i) {
    Fiber& fiber = fibers_[i];
    if (fiber.state == State::kDone || first.state == State::kDone)
      stop("some threads of a block wait at a barrier that others have left the kernel without");
    if (fiber.line != first.line || std::strcmp(fiber.file, first.file) != 0)
      stop("threads of a block wait at different barriers, lines " + std::to_string(first.line) + " and " +
           std::to_string(fiber.line) + " of " + fiber.file);
    fiber.state = State::kReady;
  }
}

void Block::run(const Launch& launch, int threads) {
  prepare(launch, threads);
  while (true) {
    const bool any_ready = run_ready(), any_warp = run_warps();
    if (any_ready || any_warp) continue;
    if (std::all_of(order_.begin(), order_.end(), [&](std::size_t i) { return fibers_[i].state == State::kDone; }))
      return;
    pass_barrier();
  }
}

void Block::share(void* variable, std::size_t bytes) {
  if (!static_shared_.insert(variable).second) return;  // another thread of this block was here
  static_bytes_ += bytes;
  if (static_bytes_ > kStaticShared) stop("a kernel has more than 48 kB of __shared__ variables");
  std::memset(variable, kUnset, bytes);
}

}  // namespace

void wait_for_block(const char* file, int line) {
  block().running().file = file;
  block().running().line = line;
  block().wait(State::kAtBarrier);
}

void multiply_in_warp(const Fragments& fragments) {
  block().running().fragments = fragments;
  block().wait(State::kInWarp);
}

unsigned char* dynamic_shared() { return block().dynamic_shared(); }

void share(void* variable, std::size_t bytes) { block().share(variable, bytes); }

void run_blocks(const Launch& launch) {
  block_size = launch.shape.block;
  grid_size = launch.shape.grid;
  const int threads = static_cast<int>(block_size.x * block_size.y * block_size.z);
  for (unsigned z = 0; z < grid_size.z; ++z)
    for (unsigned y = 0; y < grid_size.y; ++y)
      for (unsigned x = 0; x < grid_size.x; ++x) {
        block_index = {x, y, z};
        block().run(launch, threads);
      }
}

}  // namespace rimetree::emulation
