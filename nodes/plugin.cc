// The project's own nodes are a plugin like any other, so that the way plugins are loaded can never rot.
#include "nodes/psv/kernel.h"
#include "runtime/core/classes/plugin_api.h"

namespace {
std::string about() { return "PSV on " + rimetree::psv::instruction_set(); }
}  // namespace

RIMETREE_PLUGIN("rimetree_nodes", &about);
