#include "runtime/rewrite/source_sums.h"

#include <algorithm>

namespace rimetree::rewrite {

namespace {
constexpr std::size_t kNone = static_cast<std::size_t>(-1);
}

void SourceSums::make() {
  is_element_.assign(forest_.size(), false);
  for (const Elements& sums : elements()) make_elements(sums);
  for (const SourceSum& sum : found_.sums())
    if (!is_element(sum.root)) make_one(sum);
}

void SourceSums::make_one(const SourceSum& sum) {
  nodes_.set_owner(sum.root);
  shapes_are_vectors_ = std::ranges::any_of(
      found_.terms(sum), [this](const SourceTerm& term) { return term.shape >= 0 && shape_columns(term) >= 6; });
  std::vector<Group> groups;
  for (const SourceTerm& term : found_.terms(sum)) {
    Source source = sorted_out(term);
    const auto known =
        std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return are_alike(group[0], source); });
    if (known == groups.end())
      groups.push_back({std::move(source)});
    else
      known->push_back(std::move(source));
  }
  const bool is_scalar = forest_.node(sum.root).dims().is_scalar();
  if (groups.size() == 1 && sum.rest.empty()) {
    node_of_sum(groups[0], is_scalar, true);
    return;
  }
  std::vector<int> terms;
  for (Group& group : groups) terms.push_back(node_of_sum(group, is_scalar, false));
  terms.insert(terms.end(), sum.rest.begin(), sum.rest.end());
  nodes_.sum(std::move(terms), true);
}

/// What is the same on all baselines is the source's brightness; what stands to the left and to the right of it are
/// Jones terms. A brightness that varies in time would keep fast methods from being used, and becomes a Jones term of
/// a source of flux one.
SourceSums::Source SourceSums::sorted_out(const SourceTerm& term) {
  std::vector<Piece> pieces;
  direction_ = term.lmn;
  for (const Factor& factor : found_.factors(term))
    if (factor.matrix >= 0)
      add_pieces(found_.matrix(factor), pieces);
    else
      pieces.push_back(piece_of(factor));
  return sorted_out(term, pieces);
}

SourceSums::Source SourceSums::sorted_out(const SourceTerm& term, std::span<const Piece> pieces) {
  const std::size_t chosen = choose_brightness(pieces);
  Source source{&term, {}, {}, {}};
  source.brightness = chosen == kNone ? Part{nodes_.constant(1, {}), 0} : pieces[chosen].part;
  const std::uint32_t uses = chosen == kNone ? 0 : pieces[chosen].uses;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == chosen) continue;
    const Part& part = pieces[i].part;
    const bool of_source = chosen != kNone && !part.is_matrix() && pieces[i].uses >= uses &&
                           (!part.is_stack() || source.brightness.is_stack()) && !pieces[i].varies;
    if (of_source)
      source.brightness.node = part.is_stack() && source.brightness.is_matrix()
                                   ? nodes_.scaled(source.brightness.node, part.node)
                                   : nodes_.product(source.brightness.node, part.node);
    else if (chosen == kNone || i < chosen)
      source.left.insert(source.left.begin(), part);
    else
      source.right.push_back(part);
  }
  if (term.negative) source.brightness.node = nodes_.negative(source.brightness.node);
  bring_to_ends(source);
  return source;
}

/// Numbers may stand anywhere. Those of the second station are conjugated: where both stations' stand on one side of
/// the brightness, each is brought to its own, so that an antenna has the same terms on both sides of its baselines.
void SourceSums::bring_to_ends(Source& source) {
  const auto is_number = [](const Part& part) { return !part.is_matrix(); };
  const auto is_conjugated = [](const Part& part) { return !part.is_matrix() && part.original >= 0; };
  const auto is_plain = [](const Part& part) { return !part.is_matrix() && part.original < 0; };
  const auto move = [](std::vector<Part>& from, std::vector<Part>& to, const auto& which) {
    const auto kept = std::stable_partition(from.begin(), from.end(), [&](const Part& part) { return !which(part); });
    to.insert(to.begin(), kept, from.end());
    from.erase(kept, from.end());
  };
  if (std::ranges::none_of(source.right, is_number) && std::ranges::any_of(source.left, is_plain))
    move(source.left, source.right, is_conjugated);
  else if (std::ranges::none_of(source.left, is_number) && std::ranges::any_of(source.right, is_conjugated))
    move(source.right, source.left, is_plain);
}

/// Of the matrices (of numbers, if there are no matrices) that do not vary in time the one that most sums have; of
/// equal ones what a class calls a brightness, or the one in the middle.
std::size_t SourceSums::choose_brightness(std::span<const Piece> pieces) {
  const bool any_matrix =
      std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.part.is_matrix(); });
  const std::size_t middle = (pieces.size() - 1) / 2;
  const auto from_middle = [middle](std::size_t i) { return i > middle ? i - middle : middle - i; };
  std::size_t best = kNone;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.part.is_matrix() != any_matrix || piece.varies) continue;
    if (best != kNone) {
      const Piece& known = pieces[best];
      if (piece.uses < known.uses) continue;
      if (piece.uses == known.uses &&
          (known.is_brightness > piece.is_brightness ||
           (known.is_brightness == piece.is_brightness && from_middle(best) <= from_middle(i))))
        continue;
    }
    best = i;
  }
  return best;
}

SourceSums::Part SourceSums::part_of(const Factor& factor) {
  if (factor.element >= 0) {
    const int number = nodes_.element(factor.node, factor.element);
    return factor.adjoint ? adjoint({number, 0}) : Part{number, 0};
  }
  const TensorShape& dims = forest_.node(factor.node).dims();
  const int node = factor.inverse ? nodes_.inverse(factor.node) : factor.node;
  const bool is_transposed = !factor.inverse && forest_.node(node).algebra() == Algebra::conjugate_transpose;
  Part part{node, dims.rank, dims.rank % 2 == 1 ? dims[0] : 0, is_transposed ? forest_.children(node)[0] : -1};
  return factor.adjoint ? adjoint(part) : part;
}

/// What has been transposed is there.
SourceSums::Part SourceSums::adjoint(Part part) {
  const int original = part.node;
  part.node = part.original >= 0 ? part.original : nodes_.conjugate_transpose(original);
  part.original = part.original >= 0 ? -1 : original;
  return part;
}

/// Whether one node can sum both.
bool SourceSums::are_alike(const Source& a, const Source& b) const {
  // What varies in time would make all vary.
  const auto moves = [this](int node) { return node >= 0 && read_.may_vary_in_time(node); };
  const auto key = [&](const SourceTerm& term) {
    return std::tuple(moves(term.lmn) || moves(term.shape), term.sight(), shape_columns(term) >= 6);
  };
  const auto alike = [](const Part& one, const Part& other) { return one.is_matrix() == other.is_matrix(); };
  return key(*a.term) == key(*b.term) && alike(a.brightness, b.brightness) &&
         std::equal(a.left.begin(), a.left.end(), b.left.begin(), b.left.end(), alike) &&
         std::equal(a.right.begin(), a.right.end(), b.right.begin(), b.right.end(), alike);
}

/// Numbers of a source's shape: three, or six if its axes are vectors; one more with the number of its profile.
int SourceSums::shape_columns(const SourceTerm& term) const {
  if (term.shape < 0) return shapes_are_vectors_ ? 6 : 3;
  const TensorShape& dims = forest_.node(term.shape).dims();
  return dims[dims.rank - 1];
}

int SourceSums::node_of_sum(Group& group, bool is_scalar, bool in_place) {
  const SourceTerm& first = *group[0].term;
  if (first.part != Algebra::none) return nodes_.part(node_of_whole(group, is_scalar, false), first.part, in_place);
  return node_of_whole(group, is_scalar, in_place);
}

/// Of which the sum may be but the real part.
int SourceSums::node_of_whole(Group& group, bool is_scalar, bool in_place) {
  const SourceTerm& first = *group[0].term;
  if (group.size() == 1 && first.written >= 0) {
    const int node = first.negative ? nodes_.negative(first.written) : first.written;
    // What is new is not just left out where it is missing.
    return in_place || first.in_difference ? nodes_.sum({node}, in_place) : node;
  }
  std::vector<int> factors = take_out_common(group, &Source::left);
  std::vector<int> right = take_out_common(group, &Source::right);
  const bool is_product = !factors.empty() || !right.empty();
  int node = source_sum(group, in_place && !is_scalar && !is_product);
  if (is_scalar) node = nodes_.first_element(node, in_place && !is_product);
  if (!is_product) return node;
  factors.push_back(node);
  factors.insert(factors.end(), right.rbegin(), right.rend());
  return nodes_.matrix_product(std::move(factors), in_place);
}

/// Outermost factors that all sources have: they stay outside of the sum. The outermost first.
std::vector<int> SourceSums::take_out_common(Group& group, std::vector<Part> Source::*side) {
  std::vector<int> common;
  if (group.size() == 1 && group[0].size() == 1) return common;
  const auto same = [&](const Source& source) {
    const Part& last = (source.*side).back();
    return last.node == (group[0].*side).back().node && !last.is_stack();
  };
  while (!(group[0].*side).empty() && std::all_of(group.begin(), group.end(), same)) {
    common.push_back((group[0].*side).back().node);
    for (Source& source : group) (source.*side).pop_back();
  }
  return common;
}

int SourceSums::source_sum(const Group& group, bool in_place) {
  const SourceTerm& first = *group[0].term;
  SourceSumNode node;
  node.n_minus = first.n_minus;
  node.smear_time = first.smears && first.smear_time;
  node.smear_frequency = first.smears && first.smear_frequency;
  node.time_width_s = first.time_width_s;
  node.freq_width_hz = first.freq_width_hz;
  node.uvw = uvw_of(first);
  node.lmn = stack_of_places(group, &SourceTerm::lmn);
  if (std::any_of(group.begin(), group.end(), [](const Source& source) { return source.term->shape >= 0; }))
    node.shape = stack_of_places(group, &SourceTerm::shape);
  node.brightness = stack_of_parts(group, [](const Source& source) {
    Part part = source.brightness;
    part.original = -1;
    return part;
  });
  const std::size_t n_left = group[0].left.size(), n_right = group[0].right.size();
  for (std::size_t pair = 0; pair < std::max(n_left, n_right); ++pair)
    for (const auto side : {&Source::left, &Source::right}) {
      const std::size_t n = (group[0].*side).size();
      const Part one{nodes_.constant(1, {}), 0};
      node.jones.push_back(
          stack_of_parts(group, [&](const Source& source) { return pair < n ? (source.*side)[pair] : one; }));
    }
  return nodes_.source_sum(node, in_place);
}

int SourceSums::uvw_of(const SourceTerm& term) {
  int uvw = term.uvw >= 0 ? term.uvw : term.minus_uvw;
  TensorShape dims = forest_.node(uvw).dims();
  if (term.uvw >= 0 && term.minus_uvw >= 0)
    uvw = nodes_.difference(term.uvw, term.minus_uvw);
  else if (term.uvw < 0)
    uvw = nodes_.negative(uvw);
  // Coordinates that have rates are smeared: without rates in frequency only.
  if (!term.smears || dims.rank == 2) return uvw;
  const int with_rates[] = {uvw, nodes_.constant(0, {3})};
  return nodes_.stack(with_rates, {2, 3});
}

/// [source,3] of directions, or [source,3] or [source,6] of shapes, with one number more where some shape has that of
/// its profile: those without one are of the first.
int SourceSums::stack_of_places(const Group& group, int SourceTerm::*place) {
  if (group.size() == 1) return group[0].term->*place;
  std::vector<int> nodes;
  std::size_t n = 0;
  int columns = 3;
  if (place == &SourceTerm::shape)
    for (const Source& source : group) columns = std::max(columns, shape_columns(*source.term));
  const bool is_shape = place == &SourceTerm::shape;
  for (const Source& source : group) {
    const int node = source.term->*place;
    n += source.size();
    if (node < 0)
      nodes.insert(nodes.end(), source.size(), nodes_.constant(0, {columns}));
    else if (!is_shape || shape_columns(*source.term) == columns)
      nodes.push_back(node);
    else
      for (std::size_t s = 0; s < source.size(); ++s) {
        const bool is_stack = forest_.node(node).dims().rank == 2;
        nodes.push_back(is_stack ? nodes_.row(node, static_cast<std::int64_t>(s)) : node);
        nodes.push_back(nodes_.constant(0, {1}));
      }
  }
  return nodes_.stack(nodes, {static_cast<std::int32_t>(n), columns});
}

/// [source] of numbers or [source,2,2] of matrices. That of conjugate transposes is the conjugate transpose of one: so
/// an antenna has one stack on both sides of its baselines.
template <class PartOf>
int SourceSums::stack_of_parts(const Group& group, const PartOf& part_of) {
  const bool transposed =
      std::all_of(group.begin(), group.end(), [&](const Source& source) { return part_of(source).original >= 0; });
  std::vector<int> nodes;
  std::size_t n = 0;
  bool is_matrix = false;
  for (const Source& source : group) {
    const Part part = part_of(source);
    if (group.size() == 1 && (part.is_stack() || source.size() == 1)) return part.node;
    is_matrix = part.is_matrix();
    n += source.size();
    nodes.insert(nodes.end(), part.is_stack() ? 1 : source.size(), transposed ? part.original : part.node);
  }
  const auto length = static_cast<std::int32_t>(n);
  const int stack = nodes_.stack(nodes, is_matrix ? TensorShape{length, 2, 2} : TensorShape{length});
  return transposed ? nodes_.conjugate_transpose(stack) : stack;
}

}  // namespace rimetree::rewrite
