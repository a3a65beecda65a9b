// Which factor of a product is the visibility that the others stand around.
#pragma once

#include <cstddef>
#include <map>

#include "runtime/core/forest/forest.h"

namespace rimetree::solve {

class CoresOfProducts {
 public:
  explicit CoresOfProducts(const Forest& forest) : forest_(forest) {}

  /// Which child of a product is the visibility: the only one that depends on data (on a Spigot's UVW, say); or the
  /// only fixed one, or the only one that is a sum or product again; or else the one that holds most. -1 where it is
  /// not clear.
  std::ptrdiff_t core_of(int product);

 private:
  /// What depends on no solvable Parm in the sums and products that a node is made of.
  enum class Fixed : std::uint8_t { nothing, numbers, varying };
  Fixed held_by(int node);
  std::ptrdiff_t fullest_of(int product, std::ptrdiff_t preferred);
  bool is_solvable(int node) const { return (forest_.dependencies(node) & kSolvable) != 0; }

  const Forest& forest_;
  std::map<int, Fixed> held_;
};

}  // namespace rimetree::solve
