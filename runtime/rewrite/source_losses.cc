// What of a term is no phase: smearing, by one node or by one for exposures and one for channels; and that it may be
// only the real or the imaginary part, as sums of cosines are.
#include "runtime/rewrite/source_products.h"

namespace rimetree::rewrite {

/// Smearing by a node that does neither is one, of directions and coordinates that count all the same.
bool read_smearing(Reading& reading, int node, Product& product) {
  note_left_out(reading, node);
  const State& state = reading.nodes.state(node);
  const bool in_frequency = state.boolean("smear_frequency");
  const bool in_time = state.boolean("smear_time") || !in_frequency;
  return take_loss(reading, kOverExposures, in_time ? node : -1, product) &&
         take_loss(reading, kOverChannels, in_frequency ? node : -1, product) && take_direction(reading, node, product);
}

void note_left_out(Reading& reading, int node) {
  const LeftOut left_out = reading.nodes.leaves_out(node);
  reading.sum.leaves_out_flagged = reading.sum.leaves_out_flagged || left_out.flagged;
  reading.sum.holds_zero = reading.sum.holds_zero || left_out.missing;
}

bool take_loss(Reading& reading, Loss loss, int node, Product& product) {
  if (node < 0) return true;
  int& own = product.sight.losses[loss];
  if (own >= 0) return reading.refuse(node, "a product has two factors of this kind");
  own = node;
  return true;
}

/// Real numbers may stand inside of a real part, or outside of it.
bool read_part(Reading& reading, int node, Product& product) {
  SourceNodes& nodes = reading.nodes;
  if (product.sight.part != Algebra::none) return reading.refuse(node, "a product has real parts of two phases");
  product.sight.part = nodes.algebra(node);
  const std::size_t begin = product.factors.size();
  if (!read_factors(reading, nodes.children(node)[0], false, product)) return false;
  if (product.nested >= 0) return reading.refuse(node, "it is the real part of a sum");
  for (std::size_t i = begin; i < product.factors.size(); ++i) product.factors[i].in_part = true;
  return true;
}

}  // namespace rimetree::rewrite
