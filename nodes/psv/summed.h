// What a sum is over: the same for values, derivatives and adjoints, on the host and on devices, by any method.
#pragma once

#include "nodes/psv/kernel.h"
#include "nodes/psv/packed_skies.h"

namespace rimetree::psv {

/// Names of the two antennas of each baseline, [baseline], as far as a tree tells; any numbers. Empty where nothing is
/// known.
struct BaselineEnds {
  std::vector<std::int64_t> p, q;
  bool empty() const { return p.empty(); }
};

/// One sky on one set of channels, seen by many rows.
struct Summed {
  const Sky<double>& sky;
  const Channels& channels;
  const Rows& rows;
  const JonesTerms& jones;
  // For devices: what is there in this version is not copied again, and who the antennas of the baselines are.
  std::uint64_t owner = 0;  ///< tells the skies of a node, and of different ones, apart
  SkyVersion version = {};
  BaselineEnds ends = {};

  std::size_t n_channel() const { return channels.frequency_hz.size(); }
};

/// The smallest tolerance that any method meets: phases and sums in double precision leave no more.
inline constexpr double kSmallestTolerance = 1e-12;
/// What sums meet with phases in double and the rest in single precision.
inline constexpr double kSingleBound = 1e-6;
/// Whether they meet a tolerance: double precision has not enough of a phase of very many turns left, as of fringes
/// between continents that nobody has stopped.
bool singles_meet(double tolerance, const Summed& of);

}  // namespace rimetree::psv
