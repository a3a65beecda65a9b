// The versions that one machine has of what is compiled for several instruction sets.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "nodes/psv/kernel.h"

namespace rimetree::testing {

/// Calls test() with each version of PSV's loops that runs on this machine, the best first.
template <class F>
void for_each_instruction_set(const F& test) {
  std::vector<std::string> seen;
  for (std::int64_t bits = hwy::SupportedTargets(); bits != 0; bits &= bits - 1) {
    // Each set in turn is the best that the library is told of; sets without a version of their own fall to a lesser.
    hwy::SetSupportedTargetsForTest(bits);
    hwy::GetChosenTarget().DeInit();
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const std::string name = psv::instruction_set();
    if (!seen.empty() && seen.back() == name) continue;
    seen.push_back(name);
    SCOPED_TRACE(name);
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  // Every machine has more than the plainest version, unless it was told to use no other.
  EXPECT_GE(seen.size(), std::getenv("RIMETREE_INSTRUCTION_SET") == nullptr ? 2u : 1u);
}

}  // namespace rimetree::testing
