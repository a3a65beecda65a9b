// RIMETREE_INSTRUCTION_SET (AVX3, which is AVX-512, AVX2, ...): kernels take no better set than this one, as on a
// machine that has none. For tests, and where the best set is not the fastest.
#include "runtime/math/simd_targets.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "hwy/targets.h"

namespace rimetree {

namespace {

/// Leaves out what is better than the set of that name; says so where there is none.
void take_at_most(const std::string& name) {
  std::string known;
  for (std::int64_t sets = HWY_TARGETS; sets != 0; sets &= sets - 1) {
    const std::int64_t one = sets & -sets;  // the best of those left: better sets have lower bits
    if (name == hwy::TargetName(one)) return hwy::DisableTargets(one - 1);
    known += (known.empty() ? "" : ", ") + std::string(hwy::TargetName(one));
  }
  std::fprintf(stderr, "RIMETREE_INSTRUCTION_SET is %s, and has no effect; there are %s\n", name.c_str(),
               known.c_str());
}

[[maybe_unused]] const bool kSaid = [] {
  const char* name = std::getenv("RIMETREE_INSTRUCTION_SET");
  if (name != nullptr && *name != '\0') take_at_most(name);
  return true;
}();

}  // namespace

}  // namespace rimetree
