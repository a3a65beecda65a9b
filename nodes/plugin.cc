// The project's own nodes are a plugin like any other, so that the way plugins are loaded can never rot.
#include "runtime/plugin_api.h"

RIMETREE_PLUGIN("rimetree_nodes");
