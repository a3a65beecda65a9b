// Sums are found from the roots down. A sum gives its number and the term's number to each child. A node that is given
// the same term of one sum, or of several that can be evaluated together, by all who read it belongs to that term, and
// passes both on; one that is given different ones is read by several terms, and is an input. Then the terms are
// compared: they must be made by nodes of the same batches, linked alike.
#include "runtime/evaluate/term_sums.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/cell/cell_program.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

bool TermSums::is_sum(int node) const {
  const std::span<const int> children = forest_.children(node);
  if (children.size() < kLeastTerms || forest_.node(node).algebra() != Algebra::sum || !fusion_.can_be_whole(node))
    return false;
  const TensorShape& dims = forest_.node(node).dims();
  return std::all_of(children.begin(), children.end(),
                     [&](int child) { return child >= 0 && forest_.node(child).dims() == dims; });
}

bool TermSums::is_sum_of_stack(int node) const {
  const Node& sum = forest_.node(node);
  const std::span<const int> children = forest_.children(node);
  return sum.algebra() == Algebra::reduction && children.size() == 1 && sum.state().integer("tensor_axis") == 0 &&
         sum.state().text_list("reduction_axes").empty() && sum.dims().size() > 0 &&
         forest_.node(children[0]).dims()[0] > 1 && !sum.traits().always_evaluates;
}

/// One search through a forest.
class TermSums::Search {
 public:
  Search(TermSums& sums, const std::vector<Role>& roles)
      : sums_(sums),
        forest_(sums.forest_),
        roles_(roles),
        owner_(forest_.size(), kUnknown),
        item_(forest_.size(), -1),
        together_(forest_.size(), -1) {}

  /// `limit`: roots of one component; sums of larger ones share nothing.
  void find_owners(std::size_t limit) {
    const std::vector<int>& order = forest_.order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const int node = *it;
      if (roles_[at(node)] == Role::unneeded) {
        owner_[at(node)] = kNone;
        continue;
      }
      if (is_root(node)) {
        give_terms(node);
        continue;
      }
      const bool is_part = belongs(node);
      if (!is_part) owner_[at(node)] = kNone;
      const std::span<const int> children = forest_.children(node);
      for (std::size_t slot = 0; slot < children.size(); ++slot) {
        const bool goes_along = is_part && !sums_.fusion_.looks_up(node, slot);
        if (children[slot] >= 0) give(children[slot], goes_along ? owner_[at(node)] : kNone, item_[at(node)]);
      }
    }
    std::unordered_map<int, std::size_t> count;
    for (const int root : roots_) ++count[first_of(root)];
    too_many_.assign(forest_.size(), false);
    bool any = false;
    for (const int root : roots_)
      if (count[first_of(root)] > limit) any = too_many_[at(root)] = true;
    if (!any) return;
    std::vector<bool> alone;
    alone.swap(too_many_);
    std::fill(owner_.begin(), owner_.end(), kUnknown);
    std::fill(together_.begin(), together_.end(), -1);
    roots_.clear();
    is_alone_ = std::move(alone);
    find_owners(forest_.size());
  }

  std::vector<TermSum> sums() {
    std::vector<TermSum> found;
    std::unordered_map<int, std::vector<int>> components;
    std::vector<int> order;
    for (auto it = roots_.rbegin(); it != roots_.rend(); ++it) {
      std::vector<int>& component = components[first_of(*it)];
      if (component.empty()) order.push_back(first_of(*it));
      component.push_back(*it);
    }
    number_.assign(forest_.size(), -1);
    for (const int first : order) {
      TermSum sum;
      sum.roots = std::move(components[first]);
      std::sort(sum.roots.begin(), sum.roots.end());
      if (describe(sum)) found.push_back(std::move(sum));
    }
    return found;
  }

 private:
  static constexpr int kUnknown = -1, kNone = -2;
  static constexpr int kStack = -3;  // for the number of an item: all of them
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  bool is_root_known(int node) const { return together_[at(node)] >= 0; }
  bool is_root(int node) const {
    if (!sums_.refused_.empty() && sums_.refused_[at(node)]) return false;
    return roles_[at(node)] >= Role::apart && (sums_.is_sum(node) || sums_.is_sum_of_stack(node));
  }
  int first_of(int root) const {
    while (together_[at(root)] != root) root = together_[at(root)];
    return root;
  }

  void give_terms(int root) {
    together_[at(root)] = root;
    owner_[at(root)] = kNone;
    roots_.push_back(root);
    const std::span<const int> children = forest_.children(root);
    const bool of_stack = sums_.is_sum_of_stack(root);
    for (std::size_t slot = 0; slot < children.size(); ++slot)
      give(children[slot], root, of_stack ? kStack : static_cast<int>(slot));
  }
  void give(int node, int owner, int item) {
    int& known = owner_[at(node)];
    if (known == kUnknown) {
      known = owner;
      item_[at(node)] = item;
    } else if (known != kNone && (owner < 0 || item_[at(node)] != item || !unite(known, owner, node))) {
      known = kNone;
    }
  }
  /// Whether two sums can be evaluated together, which they then are if the node may be made for both.
  bool unite(int a, int b, int node) {
    const int first = first_of(a), second = first_of(b);
    if (first == second) return true;
    if (roles_[at(node)] != Role::inside || sums_.plan_.batch_of(first) != sums_.plan_.batch_of(second)) return false;
    if (!is_alone_.empty() && (is_alone_[at(a)] || is_alone_[at(b)])) return false;
    if (item_[at(node)] == kStack && length_of(first) != length_of(second)) return false;
    together_[at(second)] = first;
    return true;
  }
  std::int32_t length_of(int root) const { return forest_.node(forest_.children(root)[0]).dims()[0]; }

  bool belongs(int node) const {
    if (owner_[at(node)] < 0 || roles_[at(node)] != Role::inside) return false;
    if (item_[at(node)] != kStack) return sums_.fusion_.can_be_whole(node);
    // Each term has the same number of its items.
    const TensorShape& dims = forest_.node(node).dims();
    const std::int32_t length = length_of(owner_[at(node)]);
    const std::size_t items = sums_.fusion_.items_of(node), n = static_cast<std::size_t>(length);
    return items != 0 && dims.rank > 0 && dims[0] == length && items % n == 0 && items / n <= RecordableNode::kFewItems;
  }
  bool is_inside(int node, int item, int first) const {
    return owner_[at(node)] >= 0 && !is_root_known(node) && item_[at(node)] == item &&
           first_of(owner_[at(node)]) == first;
  }

  /// What one term of each root is made of.
  struct Term {
    std::vector<std::int32_t> code;  ///< batches and links
    std::vector<int> members, inputs;
    std::vector<std::int32_t> links, terms;
  };

  bool describe(TermSum& sum) {
    sum.of_stack = sums_.is_sum_of_stack(sum.roots.front());
    sum.n_item = sum.of_stack ? static_cast<std::size_t>(length_of(sum.roots.front()))
                              : forest_.children(sum.roots.front()).size();
    Term first = term(sum, 0);
    if (first.members.empty()) return false;
    sum.members = first.members;
    sum.links = first.links;
    sum.terms = first.terms;
    sum.parts = first.members;
    for (const int input : first.inputs) sum.inputs.push_back({input});
    for (std::size_t item = 1; item < (sum.of_stack ? 1 : sum.n_item); ++item) {
      const Term other = term(sum, item);
      if (other.code != first.code) return false;
      sum.parts.insert(sum.parts.end(), other.members.begin(), other.members.end());
      for (std::size_t k = 0; k < sum.inputs.size(); ++k) sum.inputs[k].push_back(other.inputs[k]);
    }
    for (std::vector<int>& nodes : sum.inputs)
      if (std::all_of(nodes.begin(), nodes.end(), [&](int node) { return node == nodes.front(); })) nodes.resize(1);
    for (const int member : sum.members) sum.varies_along |= forest_.node(member).traits().varies_along;
    first.code.push_back(sum.of_stack ? 1 : 0);
    first.code.push_back(static_cast<std::int32_t>(sum.n_item));
    for (const std::vector<int>& nodes : sum.inputs) first.code.push_back(nodes.size() == 1 ? 1 : 0);
    sum.form =
        sums_.forms_.try_emplace(std::move(first.code), static_cast<std::int32_t>(sums_.forms_.size())).first->second;
    return true;
  }

  Term term(const TermSum& sum, std::size_t item) {
    Term made;
    const int first = first_of(sum.roots.front()), number = sum.of_stack ? kStack : static_cast<int>(item);
    const auto input = [&](int node) {
      std::int32_t& known = number_[at(node)];
      if (known < 0) {
        known = static_cast<std::int32_t>(made.inputs.size());
        made.inputs.push_back(node);
      }
      return known;
    };
    std::vector<std::pair<int, std::size_t>> path;
    for (const int root : sum.roots) {
      const int top = forest_.children(root)[sum.of_stack ? 0 : item];
      if (!is_inside(top, number, first)) {
        made.terms.push_back(input(top));
        continue;
      }
      if (number_[at(top)] < 0) path.emplace_back(top, 0);
      while (!path.empty()) {
        auto& [node, next] = path.back();
        const std::span<const int> children = forest_.children(node);
        while (next < children.size() &&
               (children[next] < 0 || number_[at(children[next])] >= 0 || !is_inside(children[next], number, first)))
          ++next;
        if (next < children.size()) {
          path.emplace_back(children[next++], 0);
          continue;
        }
        made.code.push_back(sums_.plan_.batch_of(node));
        for (const int child : children)
          made.links.push_back(child < 0                         ? FusedGroup::kAbsent
                               : is_inside(child, number, first) ? ~number_[at(child)]
                                                                 : input(child));
        number_[at(node)] = static_cast<std::int32_t>(made.members.size());
        made.members.push_back(node);
        path.pop_back();
      }
      made.terms.push_back(~number_[at(top)]);
    }
    for (const int node : made.members) number_[at(node)] = -1;
    for (const int node : made.inputs) number_[at(node)] = -1;
    made.code.insert(made.code.end(), made.links.begin(), made.links.end());
    made.code.insert(made.code.end(), made.terms.begin(), made.terms.end());
    return made;
  }

  TermSums& sums_;
  const Forest& forest_;
  const std::vector<Role>& roles_;
  std::vector<int> owner_, item_;  // by node: the sum and the number of the term that it belongs to
  std::vector<int> together_;      // by root: another one that it is evaluated with; itself; -1: it is no root
  std::vector<int> roots_;
  std::vector<bool> too_many_, is_alone_;  // by root
  std::vector<std::int32_t> number_;       // by node, while a term is described
};

std::shared_ptr<const std::vector<TermSum>> TermSums::find(const std::vector<Role>& roles) {
  if (sums_ != nullptr && roles == roles_) return sums_;
  roles_ = roles;
  Search search(*this, roles_);
  search.find_owners(kMostRoots);
  sums_ = std::make_shared<const std::vector<TermSum>>(search.sums());
  return sums_;
}

void TermSums::refuse(const TermSum& sum) {
  refused_.resize(forest_.size(), false);
  for (const int root : sum.roots) refused_[static_cast<std::size_t>(root)] = true;
  roles_.clear();
}

std::vector<TermSum> TermSums::expected() {
  std::vector<Role> roles(forest_.size(), Role::unneeded);
  for (const int node : forest_.order())
    roles[static_cast<std::size_t>(node)] =
        forest_.parents(node).empty() || plan_.keeps(node) ? Role::apart : Role::inside;
  Search search(*this, roles);
  search.find_owners(kMostRoots);
  return search.sums();
}

}  // namespace rimetree
