// A typed, non-owning look at device memory: dense, row-major, with its shape.
#pragma once

#include <array>
#include <cstddef>

namespace rimetree::memory {

template <class T, std::size_t Rank>
struct View {
  T* data = nullptr;
  std::array<std::size_t, Rank> shape{};

  std::size_t size() const {
    std::size_t n = 1;
    for (const std::size_t extent : shape) n *= extent;
    return n;
  }
  /// Linear offset of an element; bounds are the caller's business.
  template <class... Index>
  requires(sizeof...(Index) == Rank) std::size_t offset(Index... index)
  const {
    const std::array<std::size_t, Rank> i{static_cast<std::size_t>(index)...};
    std::size_t n = 0;
    for (std::size_t axis = 0; axis < Rank; ++axis) n = n * shape[axis] + i[axis];
    return n;
  }
  template <class... Index>
  T& operator()(Index... index) const {
    return data[offset(index...)];
  }
  operator View<const T, Rank>() const { return {data, shape}; }
};

}  // namespace rimetree::memory
