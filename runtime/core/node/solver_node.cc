#include "runtime/core/node/solver_node.h"

namespace rimetree {

SolverNode::~SolverNode() = default;  // here, so that all libraries know one and the same class

}  // namespace rimetree
