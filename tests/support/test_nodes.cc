#include "tests/support/test_nodes.h"
