// What a core can do at best: multiply-adds per second of many independent chains in registers.
#pragma once

namespace rimetree::testing {

/// Of the instruction set that the PSV kernel uses too. Takes about 0.2 s of processor time.
template <class T>
double peak_multiply_adds_per_second();

template <>
double peak_multiply_adds_per_second<float>();
template <>
double peak_multiply_adds_per_second<double>();

}  // namespace rimetree::testing
