// Whether the derivatives of a forest are right: every node's against finite differences of the node's own function,
// and the gradient in reverse mode against derivatives in forward mode.
#pragma once

#include <string>
#include <vector>

#include "runtime/evaluate/evaluator.h"

namespace rimetree {

/// One node's derivative along a direction (direction_component) against finite differences.
struct NodeCheck {
  std::string node, node_class;
  double difference = 0;  ///< largest, as a fraction of the node's largest derivative
  double noise = 0;       ///< what the finite differences may be wrong by, in the same unit
  bool extended = false;  ///< whether these were formed in extended precision
};

/// One unknown's derivative of the root in both modes.
struct UnknownCheck {
  std::string parm;
  std::size_t unknown = 0;  ///< which of the Parm's: [tile, coefficient], as its values are
  double forward = 0, reverse = 0;
};

struct DerivativeCheck {
  std::vector<NodeCheck> nodes;        ///< that depend on unknowns, in order of evaluation
  std::vector<UnknownCheck> unknowns;  ///< empty if the root is no real number without axes
};

/// Derivatives in forward mode are compared node by node: children are moved along the direction in which their own
/// derivatives say they go, so that an error shows at the node that makes it and nowhere else. Differences are
/// extrapolated to step 0 (Ridders 1982, Adv. Eng. Software 4, 75), in extended precision where the class can be
/// evaluated in it. Throws Error where something failed.
DerivativeCheck check_derivatives(Evaluator& evaluator, const Request& request, int root,
                                  Cancellation* cancellation = nullptr);

}  // namespace rimetree
