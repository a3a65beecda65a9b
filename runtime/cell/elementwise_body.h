// The function of one cell that treats every element of tensors by itself.
#pragma once

#include <cstddef>
#include <type_traits>

namespace rimetree {

/// The function of one cell that applies a functor to every element by itself.
template <class Functor>
struct ElementwiseBody {
  std::size_t elements;

  std::size_t items() const { return elements; }
  template <class In, class Out>
  void item(const In& in, std::size_t e, Out out) const {
    using N = typename In::Number;
    const auto argument = [&in, e](std::size_t child) { return in(child, in.dims(child).is_scalar() ? 0 : e); };
    if constexpr (requires(N a) { Functor::apply(a); }) {
      *out = Functor::apply(argument(0));
    } else {
      auto value = argument(0);
      if constexpr (std::is_same_v<decltype(Functor::apply(value, value)), N>) {
        for (std::size_t child = 1; child < in.n_children(); ++child) value = Functor::apply(value, argument(child));
        *out = value;
      } else {  // gives another type than it takes: two children exactly
        *out = Functor::apply(value, argument(1));
      }
    }
  }
};

}  // namespace rimetree
