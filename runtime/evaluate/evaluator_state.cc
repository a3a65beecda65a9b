#include "runtime/evaluate/evaluator_state.h"

#include <unistd.h>

#include "memory/host_device.h"

namespace rimetree {

namespace {

std::uint64_t free_memory_bytes() {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 1u << 30;
}

}  // namespace

EvaluatorState::EvaluatorState(std::shared_ptr<Forest> written, const EvaluatorOptions& given)
    : options(given),
      evaluated(std::move(written), {given.as_written, given.fuse}, notes),
      threads(given.threads),
      pool(memory::Pool::create(memory::host())),
      placement(given.placement) {
  cache.follow_plan(evaluated.written().size(), evaluated.forest().size());
  if (options.memory_budget == 0) options.memory_budget = free_memory_bytes() / 2;
  choose_devices();
}

void EvaluatorState::choose_devices() {
  const DeviceChoice choice = device_choice(evaluated.written(), options.device);
  if (choice == placement.choice()) return;
  cache.clear();  // kept results may be on devices that are closed now
  placement.open(choice);
}

void EvaluatorState::update_plan(std::span<const int> roots) {
  if (!evaluated.update(roots)) return;
  cache.follow_plan(evaluated.written().size(), evaluated.forest().size());
  choose_devices();
}

void EvaluatorState::make_plan() {
  evaluated.make_plan();
  cache.follow_plan(evaluated.written().size(), evaluated.forest().size());
}

void EvaluatorState::set_as_written(std::optional<bool> as_written) {
  if (evaluated.set_as_written(as_written)) cache.follow_plan(evaluated.written().size(), evaluated.forest().size());
}

}  // namespace rimetree
