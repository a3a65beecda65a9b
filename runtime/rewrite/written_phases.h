// Phases of sources that are written by hand: exp(i x) in any spelling, with x = 2 pi nu/c (u l + v m + w (n - 1))
// written as products and sums of numbers or of vectors; their real and imaginary parts, cos x and sin x; and smearing,
// sin(x)/x.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/rewrite/linear_forms.h"
#include "runtime/rewrite/new_nodes.h"
#include "runtime/rewrite/real_nodes.h"

namespace rimetree::rewrite {

/// 2 pi / c in any association is within a few roundings of it, and l^2 + m^2 + n^2 of one.
inline constexpr double kRounding = 2e-15;

/// Puts nodes that are phases of directions by class into the places of those that are so by their formula, and nodes
/// that smear.
class WrittenPhases {
 public:
  /// `refused`: nodes that must be evaluated as they are written, by node.
  WrittenPhases(const Forest& forest, const std::vector<bool>& refused, NewNodes& nodes);

  /// How many nodes have been put in.
  std::size_t count() const { return count_; }
  /// Nodes put in that are made from sums that leave out what is flagged, or missing.
  const std::vector<std::pair<int, LeftOut>>& leaving_out() const { return leaving_out_; }
  /// Constants whose values have been read: what has been found holds as long as they do not change.
  std::span<const int> numbers() const;
  /// A node that is no phase, or smearing, of a direction, though it looks like it.
  struct NoPhase {
    int node = -1;
    const char *reason = "", *what = "phase";
  };
  const std::vector<NoPhase>& obstacles() const { return obstacles_; }

 private:
  /// amplitude exp(i x), or of a complex z amplitude exp(z).
  struct Exponential {
    int argument = -1;
    bool is_complex = false;  ///< the argument is z
    bool conjugate = false;   ///< it is exp(-i x)
    bool negative = false;    ///< minus all that
    std::vector<int> amplitude;
    Algebra part = Algebra::none;  ///< it is only the real, or the imaginary part of that
  };
  /// Numbers times sin(x)/x, of one x or of several.
  struct Sincs {
    std::vector<int> sines, others;
    bool negative = false;
  };
  /// A product of numbers, as far down as it is one.
  struct Factors {
    std::vector<int> all;
    bool negative = false;
  };
  /// u, v or w, and what stands beside it.
  struct Column {
    Atom baseline;
    std::vector<const Monomial*> monomials;
  };
  using Columns = std::vector<Column>;

  std::optional<Exponential> exponential(int node);
  std::optional<Exponential> of_parts(Factors real, Factors imaginary) const;
  Factors factors(int node) const;
  bool take_imaginary_unit(Factors& factors);
  int take_function(Factors& factors, Algebra function) const;
  FormReader& reader();

  using Leaves = std::unordered_map<int, std::vector<int>>;  // of phases
  void find_exponentials();
  void find_parts();
  void find_sincs();
  using Arguments = std::unordered_map<int, int>;  // of functions
  void tell_ends_apart();
  void tell_ends_apart(const Arguments& arguments);
  void tell_ends_of_stack(int length, const std::vector<int>& leaves);
  template <class MayBe>
  void say_rest_is_of_source(const std::vector<int>& varying, const MayBe& may_be_coordinates);
  std::unordered_set<int> shared_by_terms(const Leaves& leaves) const;
  /// The phases in a term of a sum.
  template <class Known>
  std::vector<int> phases_below(int node, const Known& known) const;
  void note_delays(int sum, const std::unordered_map<int, bool>& is_phase);
  bool make(int node, const Exponential& found);
  const char* put(int node, const Exponential& found, Form form, LeftOut left_out, const std::vector<int>& rest);
  std::vector<int> amplitude(const Exponential& found);
  std::optional<Sincs> sincs(int node) const;
  bool take_sines(int divisor, Factors& product, std::vector<int>& sines) const;
  bool make(int node, const Sincs& found);
  int smearing(int x, bool in_place, const char*& reason);
  bool is_nothing(const Monomial& one);
  /// A part of a sum in an argument: factors times a term, by divisors.
  struct Part {
    std::vector<int> factors, divisors;
    int term = -1;
    bool negative = false;
  };
  struct Parts {
    std::vector<Part> rest;
    std::vector<std::pair<Part, Form>> sourceless;
    Form form;  ///< of all others
    LeftOut left_out;
  };
  bool split(int node, const Exponential& found);
  std::vector<int> factors_of(const std::vector<Part>& parts, const Exponential& found);
  bool is_read_by_many(const Part& part) const { return forest_.parents(part.term).size() > 1; }
  bool is_imaginary(const Part& part);
  int exponential_of(const std::vector<Part>& parts, const Exponential& found, bool conjugate);
  void divide(Part part, bool is_complex, Parts& parts);
  bool read_part(const Part& part, Form& form);
  int sum_in(int node) const;
  int node_of(const Part& part);
  const char* obstacle(const Form& form, bool is_complex, int frequency);
  double take_scale(Form& form, bool is_complex);
  bool sort_columns(const Form& form, Columns& columns, int& uvw, int first_element);
  int lmn_of(const Columns& columns, int stack, int& n_minus);
  int direction(const Columns& columns, int& n_minus);
  int coordinate(const Column& column, int stack);
  std::pair<int, int> component(int node, int element) const;
  int node_of(const Atom& atom);
  bool is_real(int node, double wanted);
  int unit_of_offset(int node);
  bool is_unit(int lmn);
  Algebra algebra(int node) const { return forest_.node(node).algebra(); }

  const Forest& forest_;
  const std::vector<bool>& refused_;
  NewNodes& nodes_;
  std::optional<FormReader> reader_;
  RealNodes is_real_;
  std::size_t count_ = 0;
  std::unordered_map<int, Exponential> exponentials_;
  std::unordered_map<int, Sincs> sincs_;
  std::unordered_map<int, std::pair<int, double>> scaled_;  ///< coordinates: what phases have, and how often
  std::vector<std::pair<int, LeftOut>> leaving_out_;
  std::unordered_set<int> is_delay_;  ///< exp(i x) with x proportional to frequency, that are no phases of directions
  std::vector<NoPhase> obstacles_;
};

template <class Known>
std::vector<int> WrittenPhases::phases_below(int node, const Known& known) const {
  constexpr int kMostBelow = 64;  // nodes that are asked
  std::vector<int> open{node}, result;
  for (int left = kMostBelow; left > 0 && !open.empty(); --left) {
    const int one = open.back();
    open.pop_back();
    if (known.contains(one))
      result.push_back(one);
    else
      for (const int child : forest_.children(one))
        if (child >= 0) open.push_back(child);
  }
  return result;
}

}  // namespace rimetree::rewrite
