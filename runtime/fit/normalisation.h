// Where the data tell only the product of several numbers, as of two Jones terms of one antenna, a convention says
// which of them is normalised: the mean amplitude of its solution tiles is 1, and its phases hold nothing of what the
// other could hold as well (a constant, a slope along frequency). The steps that the data leave open lead there; the
// other numbers take up what is taken from it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/fit/covariance.h"

namespace rimetree::fit {

/// One number, of one solution tile.
struct Number {
  std::uint32_t re = 0;   ///< the unknown, or that of the real part
  std::int64_t im = -1;   ///< that of the imaginary part; -1: the number is real
  bool factor = false;    ///< it is a factor of products: steps are relative to it. Else it adds to a phase
  std::int64_t rank = 0;  ///< normalised where anything is open, the highest rank first; 0: never; -1: only held, at
                          ///< the sum of its series as it is, by what is open after all others; -2: after those
  /// Numbers of one series are the same quantity in tiles of row and column; phases are unwrapped along both.
  std::uint32_t series = 0, row = 0, column = 0;
};

struct Normalised {
  std::vector<double> x;
  std::vector<Combination> conditions;    ///< derivatives of what the convention holds, at x
  std::vector<std::uint32_t> normalised;  ///< unknowns that are held by it
};

/// `x`: unknowns; `open`: steps at x that change no product of numbers. Numbers of zero keep their value. `every`: all
/// steps that data leave open, with those that turn all products alike; sums of series are held for these.
Normalised normalise(std::vector<double> x, std::vector<Number> numbers, const std::vector<std::vector<double>>& open,
                     const std::vector<std::vector<double>>& every = {});

}  // namespace rimetree::fit
