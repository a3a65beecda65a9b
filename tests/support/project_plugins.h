// The project's own plugins: all node classes, and those for GPUs where they were built.
#pragma once

namespace rimetree::test {

/// Loads them into Registry::instance(), from where they were built, or from beside the test program where all have
/// been copied elsewhere (tests/gpu/pack.sh).
void load_project_plugins();

}  // namespace rimetree::test
