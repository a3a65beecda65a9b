// Kernels come in instances by the number of planes that they sum up.
#pragma once

namespace rimetree::psv {

/// Calls f.template operator()<kPlanes>() with the least number of planes for which there are kernels.
template <class F>
void with_planes(int n_plane, F&& f) {
  switch (n_plane) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 4:
      return f.template operator()<4>();
    default:
      return f.template operator()<8>();
  }
}

}  // namespace rimetree::psv
