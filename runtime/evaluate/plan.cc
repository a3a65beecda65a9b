// What a node depends on (nothing, the domain, data, parameters, the iteration, the call) is the union of what its
// class declares and what its children depend on. A result is kept between evaluations where a parent depends on more
// than the node does: only there keeping saves work. All others go as soon as their last reader is done.
//
// A kept result is known by its stamp (Evaluator): node, changes of its state, precision, tolerance, derivatives, the
// cells if it depends on the domain, the number of the data if it depends on data, the iteration if on that, and the
// children's stamps. It is valid exactly if this request gives the same stamp, so that nothing has to be invalidated.
//
// Memory: the plan estimates how many bytes of results are alive at most while some roots are evaluated. Roots (the
// Sinks of a run) that would take more than the budget are halved until each part, a wave, fits. A problem larger than
// memory takes longer but does not stop.
#include "runtime/evaluate/plan.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <unordered_map>

#include "runtime/core/fingerprint.h"

namespace rimetree {

namespace {

// What must agree for nodes to share a batch.
std::uint64_t batch_key(const Forest& forest, int i) {
  const Node& node = forest.node(i);
  std::uint64_t key = mix(node.state().fingerprint(true), std::bit_cast<std::uintptr_t>(&node.node_class()));
  key = mix(key, static_cast<std::uint64_t>(forest.level(i)));
  const auto add_dims = [&](const TensorShape& dims) {
    key = mix(key, static_cast<std::uint64_t>(dims.rank));
    for (int d = 0; d < dims.rank; ++d) key = mix(key, static_cast<std::uint64_t>(dims[d]));
  };
  add_dims(node.dims());
  for (const int child : forest.children(i)) {
    key = mix(key, static_cast<std::uint64_t>(child < 0));
    if (child >= 0) add_dims(forest.node(child).dims());
  }
  return key;
}

}  // namespace

Plan::Plan(const Forest& forest)
    : forest_(forest), batch_of_(forest.size(), -1), place_(forest.size()), varies_(forest.size(), kNoAxes) {
  std::unordered_map<std::uint64_t, int> index;
  std::vector<bool> on_device;  // by batch: whether its nodes read on devices
  std::uint64_t last_key = 0;
  int batch = -1;
  // The forest's order is by levels: so is that of the batches.
  for (const int i : forest.order()) {
    const std::uint64_t key = batch_key(forest, i);
    if (batch < 0 || key != last_key) {
      const auto [it, inserted] = index.try_emplace(key, static_cast<int>(batches_.size()));
      batch = it->second;
      last_key = key;
      if (inserted) {
        const Node& node = forest.node(i);
        const Capabilities can = node.capabilities();
        batches_.push_back({forest.level(i), {}});
        kernels_.push_back(node.make_kernel());
        on_device.push_back(can.device != nullptr);
        has_controls_ = has_controls_ || can.solver != nullptr;
      }
    }
    batches_[static_cast<std::size_t>(batch)].nodes.push_back(i);
    batch_of_[i] = batch;
    AxisSet varies = forest.node(i).traits().varies_along;
    for (const int child : forest.children(i))
      if (child >= 0) varies |= varies_[child];
    varies_[i] = varies;
  }
  int place = 0;
  for (const Batch& one : batches_)
    for (const int node : one.nodes) place_[node] = place++, in_place_.push_back(node);
  keeps_.resize(forest.size());
  feeds_devices_.resize(forest.size());
  const auto reads_on_device = [&](int node) {
    if (!on_device[static_cast<std::size_t>(batch_of_[node])]) return false;
    // Nothing is done to numbers that a node passes on: they are read on a device if that is where it hands them.
    const Algebra algebra = forest.node(node).algebra();
    const bool passes_on = algebra == Algebra::composition || algebra == Algebra::selection;
    return !passes_on || forest.parents(node).empty() || feeds_devices_[node];
  };
  for (const int i : std::views::reverse(forest.order())) {  // consumers first
    const auto parents = forest.parents(i);
    const DependencySet own = forest.dependencies(i);
    keeps_[i] = parents.empty() ||
                std::ranges::any_of(parents, [&](int parent) { return (forest.dependencies(parent) & ~own) != 0; });
    feeds_devices_[i] = std::ranges::any_of(parents, reads_on_device);
  }
}

std::uint64_t Plan::result_bytes(int node, const CellShape& cells) const {
  std::uint64_t bytes = forest_.node(node).dims().size() * sizeof(Complex<double>);
  for (int axis = 0; axis < kAxes; ++axis)
    if ((varies_[node] & set_of(Axis(axis))) != 0) bytes *= static_cast<std::uint64_t>(cells.extent[axis]);
  return bytes;
}

CellShape Plan::result_cells(int node, const CellShape& cells) const {
  CellShape shape;
  for (int axis = 0; axis < kAxes; ++axis)
    if ((varies_[node] & set_of(Axis(axis))) != 0) shape.extent[axis] = cells.extent[axis];
  return shape;
}

std::vector<int> Plan::below(std::span<const int> roots) const {
  std::vector<bool> found(forest_.size(), false);
  std::vector<int> nodes;
  const auto add = [&](int node) {
    if (node < 0 || found[node]) return;
    found[node] = true;
    nodes.push_back(node);
  };
  for (const int root : roots) add(root);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const int child : forest_.children(nodes[i])) add(child);
  // Portions of a large forest are many and small: going through all of it for each would take longer than they do.
  if (nodes.size() > forest_.size() / 8) {
    nodes.clear();
    std::copy_if(in_place_.begin(), in_place_.end(), std::back_inserter(nodes), [&](int node) { return found[node]; });
    return nodes;
  }
  std::sort(nodes.begin(), nodes.end(), [this](int a, int b) { return place_[a] < place_[b]; });
  return nodes;
}

std::uint64_t Plan::peak_bytes(std::span<const int> roots, const CellShape& cells,
                               const std::vector<bool>& unstored) const {
  const auto bytes_of = [&](int node) {
    return !unstored.empty() && unstored[static_cast<std::size_t>(node)] ? 0 : result_bytes(node, cells);
  };
  const std::vector<int> nodes = below(roots);
  std::vector<int> consumers(forest_.size(), 0);
  for (const int node : nodes)
    for (const int child : forest_.children(node))
      if (child >= 0) ++consumers[child];
  std::uint64_t alive = 0, peak = 0;
  // A level is complete before anything below it is released, as in the evaluator.
  for (std::size_t begin = 0; begin < nodes.size();) {
    std::size_t end = begin;
    for (; end < nodes.size() && forest_.level(nodes[end]) == forest_.level(nodes[begin]); ++end)
      alive += bytes_of(nodes[end]);
    peak = std::max(peak, alive);
    for (std::size_t k = begin; k < end; ++k)
      for (const int child : forest_.children(nodes[k]))
        if (child >= 0 && --consumers[child] == 0 && !keeps_[child]) alive -= bytes_of(child);
    begin = end;
  }
  return peak;
}

std::vector<std::vector<int>> Plan::waves(std::span<const int> roots, const CellShape& cells, std::uint64_t budget,
                                          const std::vector<bool>& unstored) const {
  std::vector<std::vector<int>> result;
  if (roots.empty()) return result;
  const std::uint64_t peak = peak_bytes(roots, cells, unstored);
  if (peak <= budget || roots.size() == 1) {
    result.emplace_back(roots.begin(), roots.end());
    return result;
  }
  // Halving finds a size that fits in a few estimates; what the halves share is counted in both.
  const auto half = roots.size() / 2;
  for (const auto part : {roots.first(half), roots.subspan(half)})
    for (auto& wave : waves(part, cells, budget, unstored)) result.push_back(std::move(wave));
  return result;
}

std::vector<std::vector<int>> Plan::portions(std::span<const int> roots, const CellShape& cells, std::uint64_t budget,
                                             std::uint64_t portion, const std::vector<bool>& unstored) const {
  std::vector<std::vector<int>> parts = waves(roots, cells, std::min(budget, portion), unstored);
  if (parts.size() <= 1) return parts;
  const std::uint64_t whole = peak_bytes(roots, cells, unstored);
  std::uint64_t sum = 0;
  for (const std::vector<int>& part : parts) sum += peak_bytes(part, cells, unstored);
  if (whole <= budget && sum > whole + whole / 2) parts = {{roots.begin(), roots.end()}};
  return parts;
}

}  // namespace rimetree
