// A summary as JSON, for the command line and for Python.
#pragma once

#include <string>

#include "runtime/ms/inspect/inspect.h"

namespace rimetree::ms {

/// Keys are the members' names; numbers that are not finite become null.
std::string to_json(const MsSummary& summary);

}  // namespace rimetree::ms
