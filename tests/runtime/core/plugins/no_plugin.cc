// A shared library that is no plugin.
extern "C" __attribute__((visibility("default"))) int rimetree_test_library_without_a_plugin() { return 1; }
