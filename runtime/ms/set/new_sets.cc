#include "runtime/ms/set/new_sets.h"

// Boost.DLL with the standard library's paths: nothing of Boost has to be linked.
#define BOOST_DLL_USE_STD_FS
#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {

void* new_sets_symbol(const std::string& name) {
  static auto* const library = [] {
    const auto file = boost::dll::symbol_location(new_sets_symbol).parent_path() / "librimetree_new_sets.so";
    try {
      return new boost::dll::shared_library(file, boost::dll::load_mode::rtld_now);
    } catch (const std::exception& error) {
      throw MsError("creating a Measurement Set needs " + file.string() +
                    ", which could not be loaded: " + error.what());
    }
  }();
  return reinterpret_cast<void*>(&library->get<void()>(name));
}

}  // namespace rimetree::ms
