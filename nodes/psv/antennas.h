// Rows as pairs of antennas: the UVW of a time slot as differences of one vector per antenna, where they are that.
// Who the antennas of a baseline are is only a hint, taken from the nodes that give its UVW; whether they explain the
// values is checked for every row.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "nodes/psv/summed.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree::psv {

/// An antenna in a layer: its position, and how it moves.
struct AntennaPosition {
  double x = 0, y = 0, z = 0, dx = 0, dy = 0, dz = 0;  ///< metres, metres per second
};

/// Rows of one time slot whose UVW are differences of the same vectors. A slot has several layers where it has several
/// rows of a baseline that differ, or rows of different exposures.
struct AntennaLayer {
  std::int32_t time = 0;
  double exposure_s = 0;
  std::vector<AntennaPosition> place;  ///< [antenna]
};

struct AntennaRow {
  std::int32_t layer = 0, p = 0, q = 0;  ///< UVW are place[p] - place[q]
};

struct AntennaPlan {
  std::string obstacle;  ///< why rows are no pairs of antennas; empty if they are
  std::size_t n_antenna = 0;
  std::vector<AntennaLayer> layers;
  std::vector<AntennaRow> rows;        ///< [row]
  std::vector<std::size_t> by_layer;   ///< numbers of rows, a layer after the other
  std::vector<std::size_t> layer_end;  ///< [layer]: how many of these belong to it and those before
  double misfit_m = 0;                 ///< by which a source's path may differ from that of the row's UVW
  double rate_misfit_m = 0;            ///< the same of the change of path over the exposure
  double reach_m = 0;                  ///< largest path of an antenna
};

/// An antenna with the chain of Jones terms that applies to it on one side of a baseline.
struct AntennaEnd {
  std::int32_t antenna = 0, chain = 0;
  friend auto operator<=>(const AntennaEnd&, const AntennaEnd&) = default;
};
/// Different ends, by antenna, and which of them each baseline has.
struct NumberedEnds {
  std::vector<AntennaEnd> ends;
  std::vector<std::int32_t> of_baseline;
};
/// Those of the baselines of some rows: what a row's antenna is depends on its baseline alone. `right`: q's.
NumberedEnds number_ends(const Rows& rows, const AntennaPlan& antennas, bool right,
                         const std::vector<std::int32_t>& chain_of_baseline);

/// `limit_m`: by how much paths, and their changes over the exposure, may be off. `extent`: of the sky.
/// `zero_is_one_antenna`: rows of no length, which missing rows of a Measurement Set have, are taken as
/// autocorrelations; right where nothing but the path depends on the antennas.
AntennaPlan antenna_plan(const Rows& rows, const BaselineEnds& ends, const Extent& extent, double limit_m,
                         bool zero_is_one_antenna, ThreadPool& threads);

}  // namespace rimetree::psv
