// Programs of nodes, by everything on which they depend.
#pragma once

#include <exception>
#include <map>
#include <vector>

namespace rimetree {

/// Made: what is kept of a program; as it is made, it says that there is none.
template <class Made>
class ProgramCache {
 public:
  /// Calls make(made) for a key that is new. Where that throws there is no program: nodes are evaluated one by one, and
  /// say what is wrong.
  template <class F>
  Made& find(std::vector<std::int32_t> key, const F& make) {
    const auto [at, fresh] = made_.try_emplace(std::move(key));
    if (fresh) {
      try {
        make(at->second);
      } catch (const std::exception&) {
        at->second = {};
      }
    }
    return at->second;
  }

 private:
  std::map<std::vector<std::int32_t>, Made> made_;
};

}  // namespace rimetree
