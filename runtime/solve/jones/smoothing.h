// Smoothness along frequency inside a fit. Solutions of an interval are those which fit the data of all intervals best,
// each weighted by how near it is (a local likelihood, Tibshirani & Hastie 1987, J. Am. Stat. Assoc. 82, 559): sums
// over the data are convolved once, and the fit of each interval is what it was. Where signal is low within an interval
// this finds what a mean of solutions does not: these are far from linear in the noise then.
#pragma once

#include "runtime/core/threads/thread_pool.h"
#include "runtime/solve/jones/jones_sums.h"

namespace rimetree::solve {

/// Convolves the sums of each time segment along frequency with a normal curve of this full width at half maximum;
/// `centre`: of each frequency segment. What a segment's data give to all segments adds up to 1, so that data count
/// once. Counts stay those of each segment's own data: without any of these it has no solution.
void smooth_along_frequency(const std::vector<double>& centre_hz, double width_hz, JonesSums& sums,
                            ThreadPool& threads);

}  // namespace rimetree::solve
