// The largest of many errors.
#pragma once

#include <cmath>

namespace rimetree {

/// largest = the larger of both. What is no number is larger than any, and stays.
template <class T>
void keep_larger(T& largest, T error) {
  if (!(error <= largest) && !std::isnan(largest)) largest = error;
}

}  // namespace rimetree
