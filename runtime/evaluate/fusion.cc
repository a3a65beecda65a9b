#include "runtime/evaluate/fusion.h"

#include <algorithm>
#include <numeric>

#include "runtime/core/threads/thread_pool.h"
#include "runtime/core/values/flag_rules.h"
#include "runtime/device/device_path.h"
#include "runtime/evaluate/fused_derivatives.h"
#include "runtime/evaluate/group_recorder.h"

namespace rimetree {

namespace {

std::size_t items_of(const Node& node) {
  const auto* body = dynamic_cast<const RecordableNode*>(&node);
  const bool takes_part = body != nullptr && body->is_recordable() && body->does_nothing_else() &&
                          node.dims().size() > 0 && !node.traits().always_evaluates && node.n_unknown() == 0;
  return takes_part ? body->n_item() : 0;
}

bool looks_up_any(const Node& node, std::size_t n_child) {
  const auto& body = dynamic_cast<const RecordableNode&>(node);
  for (std::size_t slot = 0; slot < n_child; ++slot)
    if (body.looks_up(slot)) return true;
  return false;
}

}  // namespace

Fusion::Fusion(const Forest& forest, const Plan& plan)
    : forest_(forest),
      plan_(plan),
      sums_(forest, plan, *this),
      term_programs_(forest),
      derivatives_(std::make_unique<FusedDerivatives>(forest)),
      number_(forest.size(), -1) {
  for (const Batch& batch : plan.batches()) {
    const int node = batch.nodes.front();
    items_.push_back(rimetree::items_of(forest.node(node)));
    const bool looks_up = items_.back() != 0 && looks_up_any(forest.node(node), forest.children(node).size());
    looking_up_.push_back(looks_up ? dynamic_cast<const RecordableNode*>(&forest.node(node)) : nullptr);
  }
}

bool Fusion::looks_up(int node, std::size_t slot) const {
  const RecordableNode* const one = looking_up_[static_cast<std::size_t>(plan_.batch_of(node))];
  return one != nullptr && one->looks_up(slot);
}

Fusion::~Fusion() = default;

const std::vector<bool>& Fusion::expected_parts(bool with_sums) {
  std::vector<bool>& expected = expected_[with_sums];
  if (!expected.empty()) return expected;
  std::vector<bool> is_sum(forest_.size(), false);
  expected.resize(forest_.size(), false);
  if (with_sums)
    for (const TermSum& sum : sums_.expected()) {
      for (const int root : sum.roots) is_sum[static_cast<std::size_t>(root)] = true;
      for (const int part : sum.parts) expected[static_cast<std::size_t>(part)] = true;
    }
  std::vector<int> n_reader(forest_.size(), 0);
  for (const int node : forest_.order())
    for (const int child : forest_.children(node))
      if (child >= 0) ++n_reader[static_cast<std::size_t>(child)];
  Search search(*this, forest_.size());
  const std::vector<int>& order = forest_.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const bool is_seen = is_sum[static_cast<std::size_t>(*it)] || plan_.keeps(*it) ||
                         search.readers(*it) != n_reader[static_cast<std::size_t>(*it)];
    const int root = search.place(*it, forest_.children(*it), items_of(*it), is_seen);
    if (root >= 0 && root != *it) expected[static_cast<std::size_t>(*it)] = true;
  }
  return expected;
}

/// Nodes as a whole go together, and stacks whose items can be divided among equally many, a few for each.
bool Fusion::Search::Size::takes(std::size_t items) const {
  const std::size_t together = std::gcd(common, items), longest = std::max(most, items);
  return members < kMostMembers &&
         (longest <= RecordableNode::kFewItems || (together > 1 && longest / together <= RecordableNode::kFewItems));
}

int Fusion::Search::place(int node, std::span<const int> children, std::size_t items, bool is_seen) {
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  int root = -1;
  if (items != 0) {
    root = root_[at(node)];
    if (is_seen || root < 0 || !groups_[at(root)].takes(items)) {
      root = node;
      groups_[at(root)] = {0, items, items};
    }
    Size& size = groups_[at(root)];
    size = {size.members + 1, std::gcd(size.common, items), std::max(size.most, items)};
  }
  for (std::size_t slot = 0; slot < children.size(); ++slot) {
    const int child = children[slot];
    if (child < 0) continue;
    ++readers_[at(child)];
    int& known = root_[at(child)];
    const bool may_be_part = root >= 0 && (known == kUnread || known == root) && !fusion_.looks_up(node, slot);
    known = may_be_part ? root : kSeveral;
  }
  return root;
}

void Fusion::set_parts(const std::vector<int>& parts) {
  if (parts == parts_) return;
  groups_.clear();
  parts_ = parts;
}

std::shared_ptr<const FusedGroup> Fusion::group(int root) {
  std::shared_ptr<const FusedGroup>& group = groups_[root];
  if (group == nullptr) group = std::make_shared<const FusedGroup>(find_group(root));
  return group;
}

FusedGroup Fusion::find_group(int root) {
  FusedGroup group;
  const auto number = [this](int node) -> std::int32_t& { return number_[static_cast<std::size_t>(node)]; };
  const auto link = [&](int child) {
    if (child < 0) return FusedGroup::kAbsent;
    if (parts_[static_cast<std::size_t>(child)] == root) return ~number(child);
    if (number(child) < 0) {
      number(child) = static_cast<std::int32_t>(group.leaves.size());
      group.leaves.push_back(child);
    }
    return number(child);
  };
  std::vector<std::pair<int, std::size_t>> path{{root, 0}};  // node, next child
  while (!path.empty()) {
    auto& [node, next] = path.back();
    const std::span<const int> children = forest_.children(node);
    const auto is_open = [&](int child) {
      return child >= 0 && parts_[static_cast<std::size_t>(child)] == root && number(child) < 0;
    };
    while (next < children.size() && !is_open(children[next])) ++next;
    if (next < children.size()) {
      path.emplace_back(children[next++], 0);
      continue;
    }
    for (const int child : children) group.links.push_back(link(child));
    number(node) = static_cast<std::int32_t>(group.members.size());
    group.members.push_back(node);
    path.pop_back();
  }
  std::vector<std::int32_t> form;
  std::size_t common = 0, most = 0;
  for (const int member : group.members) {
    common = std::gcd(common, items_of(member));
    most = std::max(most, items_of(member));
    form.push_back(plan_.batch_of(member));
    group.varies_along |= forest_.node(member).traits().varies_along;
  }
  if (most > RecordableNode::kFewItems) group.n_item = common;
  form.insert(form.end(), group.links.begin(), group.links.end());
  group.form = forms_.try_emplace(std::move(form), static_cast<std::int32_t>(forms_.size())).first->second;
  for (const int node : group.leaves) number(node) = -1;
  for (const int node : group.members) number(node) = -1;
  return group;
}

CellShape Fusion::cells_of(const FusedGroup& group, std::span<const Result* const> results, const Cells& cells) const {
  CellShape shape;
  for (const Result* result : results) shape = broadcast(shape, result->value.cells());
  for (int axis = 0; axis < kAxes; ++axis)
    if ((group.varies_along & set_of(Axis(axis))) != 0)
      shape.extent[axis] = static_cast<std::int32_t>(cells.require(Axis(axis)).centre.size());
  return shape;
}

Fusion::Made& Fusion::find(const FusedGroup& group, std::span<const Result* const> results, const Cells& cells,
                           const CellShape& shape) {
  // Everything on which a program depends.
  std::vector<std::int32_t> key{group.form, program::axes_of(shape), program::axes_of(cells.shape())};
  key.reserve(key.size() + results.size());
  for (const Result* result : results) key.push_back(kind_of(result->value));
  return made_.find(std::move(key), [&](Made& made) {
    GroupRecorder recorder(forest_, group, results);
    const std::vector<program::Output> outputs = recorder.record_outputs();
    std::vector<program::Axes> axes;
    for (const Result* result : results) axes.push_back(program::axes_of(result->value.cells()));
    made.is_complex = outputs.front().im >= 0;
    made.program.emplace(recorder.recording, outputs, axes, program::axes_of(cells.shape()), program::axes_of(shape));
  });
}

std::shared_ptr<const program::ThreadProgram> Fusion::program_on_device(const FusedGroup& group,
                                                                        std::span<const Result* const> results,
                                                                        const Cells& cells, const CellShape& shape) {
  Made& made = find(group, results, cells, shape);
  if (made.program && !made.was_asked_for) {
    GroupRecorder recorder(forest_, group, results);
    const std::vector<program::Output> outputs = recorder.record_outputs();
    made.on_device = program::thread_program(recorder.recording, outputs, group.n_item);
  }
  made.was_asked_for = true;
  return made.on_device;
}

void Fusion::run(const program::Program& program, std::size_t n_item, std::span<const Result* const> results,
                 const Cells& cells, Vells& target, ThreadPool* threads) {
  std::vector<program::Array> inputs;
  for (const Result* result : results) inputs.push_back(array_of(result->value));
  const program::Array output = array_of(target);
  run(program, n_item, inputs, {&output, 1}, cells, target.cells(), threads);
}

void Fusion::run(const program::Program& program, std::size_t n_item, std::span<const program::Array> inputs,
                 std::span<const program::Array> outputs, const Cells& cells, const CellShape& shape,
                 ThreadPool* threads) {
  program::Data data{.inputs = inputs, .outputs = outputs, .n_item = n_item, .cells = shape};
  set_coordinates(data, cells);
  if (threads != nullptr) {
    data.n_part = static_cast<std::size_t>(threads->size());
    threads->parallel_for(data.n_part, 1, [&](std::size_t begin, std::size_t end, int) {
      program::Data own = data;
      for (own.part = begin; own.part < end; ++own.part) program.run(own);
    });
  } else {
    program.run(data);
  }
}

void Fusion::complete(const FusedGroup& group, std::span<const Result* const> results, const Request& request,
                      memory::Pool& pool, Result& result) const {
  const auto is_plain = [](const Result* one) { return one->flags.empty() && one->zeros == 0; };
  if (std::all_of(results.begin(), results.end(), is_plain)) return;
  std::vector<Result> made(group.members.size());
  std::size_t first = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Node& node = forest_.node(group.members[i]);
    std::vector<const Result*> children;
    for (std::size_t slot = 0; slot < forest_.children(node.index()).size(); ++slot) {
      const std::int32_t link = group.links[first + slot];
      children.push_back(link == FusedGroup::kAbsent ? nullptr
                         : link >= 0                 ? results[static_cast<std::size_t>(link)]
                                                     : &made[static_cast<std::size_t>(~link)]);
    }
    first += children.size();
    made[i].value = Vells(std::shared_ptr<const double>(), NumberType::real, node.dims(),
                          {});  // rules for flags and zeros ask for dimensions only
    Evaluation evaluation(node, request, pool, children, made[i]);
    if (const DevicePath* path = node.device_path()) path->complete(evaluation);
    if (!evaluation.flags_are_set) made[i].flags = union_of_child_flags(evaluation);
    made[i].zeros = node.zero_elements(evaluation);
  }
  result.flags = std::move(made.back().flags);
  result.zeros = made.back().zeros;
}

}  // namespace rimetree
