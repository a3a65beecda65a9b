// Which sums are taken together. Before it is planned a forest is read as formulas, by its classes' algebra. A sum, or
// a product by itself, is a sum over sources if it is made of terms exp(i phase) smearing taper F1 F2 .., in any
// association, as one node per source or as stacks, with phases of baselines or of stations (K_p .. K_q^H), by class or
// by hand (written_phases.cc); what numbers divide is multiplied by their inverses. A matrix that is written element by
// element, Matrix22(g K XX h, ...), is such a factor, too, or where its elements are sums a sum of such terms
// (source_matrices.cc). Sums of numbers over the same sources, XX and YY, are elements of one (source_elements.cc).
// Sums within products (patches) of at most 16 terms are multiplied out. Source sums of one source (PSV) that are read
// once are terms like others. The node in a sum's place is of the class that says it is a source sum; directions,
// brightness, shapes and Jones terms are stacked by nodes that all baselines share. Where phases have more than 16
// directions, only sums are replaced: products that no sum adds up would be as many nodes, each of one source.
//
// Of the factors of a term the brightness is the one that most sums have and that does not vary in time; what stands on
// either side of it are Jones terms. Jones terms that all sources have in common stay outside. Terms that fit no such
// form, and a few whose directions vary in time, or with a factor made of the baseline's coordinates, are evaluated as
// they are written, and added.
//
// States, names, errors and Solvers refer to the user's forest; the evaluated one follows its states and holds only
// what somebody needs. A node within a sum that is asked for by name is needed from then on, and the forest is planned
// anew.
#include "runtime/rewrite/rewriting.h"

#include <algorithm>
#include <map>

#include "runtime/core/fingerprint.h"
#include "runtime/rewrite/equal_nodes.h"
#include "runtime/rewrite/source_sums.h"
#include "runtime/rewrite/term_reader.h"
#include "runtime/rewrite/written_phases.h"

namespace rimetree::rewrite {

namespace {

std::string named(const Forest& forest, int node, std::size_t count) {
  std::string text = "\"" + forest.node(node).name() + "\"";
  if (count > 1) text += " and " + std::to_string(count - 1) + " like it";
  return text;
}

/// Sums of the same number of sources in one line, and what was not taken for the same reason. `written`: the forest in
/// which nodes are what a script says.
std::vector<std::pair<int, std::string>> summary_of(const Forest& forest, const Forest& written,
                                                    const SourceTerms& found) {
  const auto node_of = [&](int node) -> const Node& {
    return (static_cast<std::size_t>(node) < written.size() ? written : forest).node(node);
  };
  std::vector<std::pair<int, std::string>> lines;
  std::map<std::pair<std::size_t, std::size_t>, std::pair<int, std::size_t>> sums;  // sources, rest: first, count
  for (const SourceSum& sum : found.sums()) {
    std::size_t n_source = 0;
    for (const SourceTerm& term : found.terms(sum)) n_source += static_cast<std::size_t>(std::max(term.n_source, 1));
    auto& known = sums.try_emplace({n_source, sum.rest.size()}, sum.root, 0).first->second;
    known.first = std::min(known.first, sum.root);
    ++known.second;
  }
  for (const auto& [key, of] : sums)
    lines.emplace_back(of.first, "sum over sources: " + named(forest, of.first, of.second) + ", " +
                                     std::to_string(key.first) + (key.first == 1 ? " source" : " sources") +
                                     (of.second > 1 ? " each" : "") + " taken together" +
                                     (key.second > 0 ? ", and " + std::to_string(key.second) +
                                                           (key.second == 1 ? " term" : " terms") + " as written"
                                                     : ""));
  std::map<std::pair<std::string, std::string>, std::pair<Obstacle, std::size_t>> obstacles;
  for (const Obstacle& obstacle : found.obstacles()) {
    auto& known =
        obstacles.try_emplace({obstacle.reason, node_of(obstacle.node).node_class().name}, obstacle, 0).first->second;
    if (obstacle.root < known.first.root) known.first = obstacle;
    ++known.second;
  }
  for (const auto& [key, of] : obstacles)
    lines.emplace_back(of.first.root, "sum over sources: in " + named(forest, of.first.root, of.second) + " node \"" +
                                          node_of(of.first.node).name() + "\" (" + key.second +
                                          ") is evaluated as written: " + key.first);
  return lines;
}

}  // namespace

Rewriting::Rewriting(const Forest& written, std::span<const int> asked, const std::vector<bool>& refused,
                     const Registry& registry)
    : n_written_(written.size()) {
  std::vector<int> roots = written.roots();
  roots.insert(roots.end(), asked.begin(), asked.end());
  merge_equal_nodes(written, roots);
  take_sums_together(forest_ ? *forest_ : written, roots, refused, registry);
}

void Rewriting::merge_equal_nodes(const Forest& written, std::span<const int> roots) {
  const EqualNodes equal(written);
  if (equal.first().empty()) return;
  forest_ = Forest::merged(written, equal.first(), roots);
  const std::size_t count = equal.count_of_other_lines();
  if (count == 0) return;
  const std::string name = written.node(equal.example()).name();
  summary_.emplace_back(equal.example(),
                        "equal nodes: " +
                            (count == 1 ? "\"" + name + "\" is written like a node before it"
                                        : std::to_string(count) + " nodes, \"" + name +
                                              "\" the first of them, are written like nodes before them") +
                            ", and evaluated once with what it equals");
}

/// What is exp(i x), but no phase of a direction, or sin(x)/x, but no smearing.
void Rewriting::add_obstacles(const Forest& from, const WrittenPhases& phases) {
  std::map<std::pair<std::string, std::string>, std::pair<int, std::size_t>> alike;
  for (const auto& [node, reason, what] : phases.obstacles())
    ++alike.try_emplace({what, reason}, node, 0).first->second.second;
  for (const auto& [why, of] : alike)
    summary_.emplace_back(of.first, "sum over sources: " + named(from, of.first, of.second) + " is no " + why.first +
                                        " of a source: " + why.second);
}

void Rewriting::take_sums_together(const Forest& from, std::span<const int> roots, const std::vector<bool>& refused,
                                   const Registry& registry) {
  NewNodes nodes(from, registry);
  if (!nodes.complete()) return;
  const WrittenPhases phases(from, refused, nodes);
  const std::size_t n_phase_node = nodes.all().size();
  // Terms are looked for where such phases are nodes.
  const auto with_phases = phases.count() > 0 ? Forest::rewritten(from, nodes.all(), roots) : nullptr;
  const Forest& read = with_phases ? *with_phases : from;
  std::vector<bool> refused_there = refused;
  refused_there.resize(read.size(), false);
  TermReader reader(read, refused_there, phases.leaving_out());
  add_obstacles(from, phases);
  if (!reader.nodes().any()) return;
  reader.read(roots);
  const SourceTerms& found = reader.found();
  const auto lines = summary_of(read, from, found);
  summary_.insert(summary_.end(), lines.begin(), lines.end());
  if (found.sums().empty()) return;
  SourceSums sums(reader.nodes(), found, nodes);
  sums.make();
  forest_ = Forest::rewritten(from, nodes.without_replacing(n_phase_node), roots);
  owners_ = nodes.owners();
  is_made_.assign(forest_->size(), false);
  is_reduction_ = is_made_;
  separates_.assign(forest_->size(), 0);
  for (const std::span<const int> numbers : {std::span<const int>(reader.nodes().read_states()), phases.numbers()})
    for (const int node : numbers) numbers_.emplace_back(node, forest_->state_version(node));
  for (std::size_t node = n_written_; node < forest_->size(); ++node) is_made_[node] = true;
  for (const SourceSum& sum : found.sums()) {
    is_made_[static_cast<std::size_t>(sum.root)] = true;
    is_reduction_[static_cast<std::size_t>(sum.root)] = sum.is_reduction;
    if (sum.holds_zero) never_missing_.insert(sum.root);
    if (sum.is_reduction || sum.own_flags() || sums.is_element(sum.root)) mark_flags(sum);
  }
  fingerprints_.assign(forest_->size(), 0);
  for (std::size_t i = 0; i < is_made_.size(); ++i) {
    if (!is_made_[i]) continue;
    const Node& node = forest_->node(static_cast<int>(i));
    const std::uint64_t state = node.state().fingerprint(false);
    fingerprints_[i] = mix(state, std::string_view(node.node_class().name));
  }
}

/// All made nodes below a sum whose flags are not all alike. Of a reduction not those of the baseline: what is flagged
/// there is flagged for all sources.
void Rewriting::mark_flags(const SourceSum& sum) {
  const std::uint8_t level = sum.own_flags() ? 2 : 1;
  std::vector<int> open{sum.root};
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    std::uint8_t& known = separates_[static_cast<std::size_t>(node)];
    if (known >= level) continue;
    known = level;
    const bool sums = forest_->node(node).algebra() == Algebra::source_sum;
    const std::span<const int> children = forest_->children(node);
    for (std::size_t slot = 0; slot < children.size(); ++slot)
      if (children[slot] >= 0 && is_new(children[slot]) && (sum.own_flags() || !(sums && slot == kUvwSlot)))
        open.push_back(children[slot]);
  }
}

bool Rewriting::holds(const Forest& written) const {
  return std::all_of(numbers_.begin(), numbers_.end(),
                     [&](const auto& number) { return written.state_version(number.first) == number.second; });
}

}  // namespace rimetree::rewrite
