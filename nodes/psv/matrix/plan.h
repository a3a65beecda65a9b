// Whether and how the matrix product computes some rows, V = A B A^H over the phasors A of antennas, and what that
// costs. Whatever depends on a baseline and a source together is in its way, but for smearing: the mean over a cell is
// replaced by a Gauss-Legendre rule in time and one in frequency, which makes each source a few terms of the sum.
#pragma once

#include <span>

#include "nodes/psv/antennas.h"
#include "nodes/psv/matrix/matrix_job.h"
#include "nodes/psv/pipeline/jones_chains.h"
#include "nodes/psv/summed.h"

namespace rimetree::psv::matrix {

/// A row as an entry between two lists of antennas. Without Jones terms an antenna has one number on both sides, and
/// rows of the other order are conjugate ones; with them, each number is that of an antenna with its Jones products on
/// this side of a baseline.
struct MatrixEntry {
  std::int32_t layer = 0, left = 0, right = 0;
  bool conjugate = false;
  std::size_t row = 0;  ///< the caller's number
};
struct MatrixPlan {
  std::string obstacle;  ///< why the method is out of the question; empty if it is not
  AntennaPlan antennas;
  std::vector<MatrixEntry> entries;     ///< as antennas.by_layer
  std::vector<AntennaEnd> left, right;  ///< what the numbers stand for
  bool with_jones = false;
  int n_time_node = 1, n_frequency_node = 1;
  double bound = 0;  ///< of what UVW and smearing nodes leave, as a fraction of the total flux
  std::size_t terms_per_source() const { return static_cast<std::size_t>(n_time_node * n_frequency_node); }
};

/// `tolerance`: of the total flux; half of it is for rounding errors. Antennas are looked for whatever the obstacle.
MatrixPlan matrix_plan(const Summed& of, const JonesChains& jones, double tolerance, ThreadPool& threads);

/// Sorts the entries of a plan into tiles of so many antennas a side: they are then in the order in which rows are
/// computed.
void sort_into_tiles(MatrixPlan& plan, std::int32_t antennas_per_tile, ThreadPool& threads);

/// Which tiles have rows.
struct TileCount {
  std::size_t tiles = 0;
  std::size_t pairs = 0;     ///< of antennas that are multiplied, those for which there is no row included
  std::size_t antennas = 0;  ///< staged, those of both sides
};
TileCount count_tiles(const MatrixPlan& plan, std::int32_t antennas_per_tile);

/// Antennas a side of a tile.
std::int32_t antennas_per_tile(const MatrixPlan& plan, const MatrixVariant& variant);

}  // namespace rimetree::psv::matrix
