// What of a term is no phase: smearing, by one node or by one for exposures and one for channels; and that it may be
// only the real or the imaginary part, as sums of cosines are.
#include <algorithm>

#include "runtime/rewrite/source_terms.h"

namespace rimetree::rewrite {

/// Smearing by a node that does neither is one, of directions and coordinates that count all the same.
bool TermReader::read_smearing(int node, Product& product) {
  note_left_out(node);
  const State& state = forest_.node(node).state();
  const bool in_frequency = state.boolean("smear_frequency");
  const bool in_time = state.boolean("smear_time") || !in_frequency;
  return take_smearing({in_time ? node : -1, in_frequency ? node : -1}, product) && take_direction(node, product);
}

/// What is left out in the sums that a phase or smearing is made from.
void TermReader::note_left_out(int node) {
  if (leaves_out_.empty()) return;
  any_leaves_out_flagged_ = any_leaves_out_flagged_ || leaves_out_[node].flagged;
  any_zero_ = any_zero_ || leaves_out_[node].missing;
}

bool TermReader::take_smearing(const std::array<int, 2>& smearing, Product& product) {
  for (const std::size_t i : {0, 1}) {
    if (smearing[i] < 0) continue;
    if (product.smearing[i] >= 0) return refuse(smearing[i], "a product has two factors of this kind");
    product.smearing[i] = smearing[i];
  }
  return true;
}

void TermReader::set_smearing(const Product& product, SourceTerm& term) const {
  term.smears = product.smears();
  for (const int node : product.smearing) {
    if (node < 0) continue;
    const State& state = forest_.node(node).state();
    term.smear_time = term.smear_time || state.boolean("smear_time");
    term.smear_frequency = term.smear_frequency || state.boolean("smear_frequency");
    if (node == product.smearing[0]) term.time_width_s = width_of(state, "time_width_s");
    if (node == product.smearing[1]) term.freq_width_hz = width_of(state, "freq_width_hz");
  }
}

double width_of(const State& state, const char* field) {
  const StateValue* width = state.find(field);
  return width == nullptr ? 0 : std::get<double>(*width);
}

/// Real numbers may stand inside of a real part, or outside of it.
bool TermReader::read_part(int node, Product& product) {
  if (product.part != Algebra::none) return refuse(node, "a product has real parts of two phases");
  product.part = algebra(node);
  const std::size_t begin = product.factors.size();
  if (!read_factors(forest_.children(node)[0], false, product)) return false;
  if (product.nested >= 0) return refuse(node, "it is the real part of a sum");
  for (std::size_t i = begin; i < product.factors.size(); ++i) product.factors[i].in_part = true;
  return true;
}

bool TermReader::has_real_factors(const Product& product) {
  if (product.part == Algebra::none) return true;
  for (const Factor& factor : product.factors) {
    if (factor.in_part || (factor.matrix < 0 && is_real_(factor.node))) continue;
    return refuse(factor.node, "it may be complex, beside the real part of a phase");
  }
  return true;
}

}  // namespace rimetree::rewrite
