// casacore asks for the home folder of whoever runs it, for settings, and opens no table where the environment does not
// say, as that of services and of containers often does not.
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace rimetree::ms {
namespace {

[[maybe_unused]] const bool has_home = [] {
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return true;
  const passwd* const user = ::getpwuid(::getuid());
  const bool is_known = user != nullptr && user->pw_dir != nullptr && *user->pw_dir != '\0';
  return ::setenv("HOME", is_known ? user->pw_dir : "/", 1) == 0;
}();

}  // namespace
}  // namespace rimetree::ms
