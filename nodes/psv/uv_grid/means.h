// Means over the cells of a row, from samples at p (U, V, W) + q (dU, dV, dW), where p are frequencies over c, and q
// parts of an exposure times a frequency over c. The mean over a cell is that over its channel in p, times that over
// its exposure in q, as PSV's two sincs are.
//   By rules: each cell has the nodes of Gauss-Legendre rules for itself.
//   By points: polynomials go through samples at Chebyshev points of the band, or of some segments of it, and of the
//   exposure. They have as many points as phases turn, and not as there are channels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nodes/psv/summed.h"

namespace rimetree::psv::uv_grid {

/// Channels [begin, end) in the order of frequency, and what their cells reach.
struct Segment {
  std::size_t begin = 0, end = 0;
  double low_hz = 0, high_hz = 0;
};
struct BandPoints {
  std::vector<Segment> segments;
  int n_node = 1;             ///< of a rule over the widest channel
  int n_point = 1;            ///< of each
  std::vector<double> at;     ///< [point], in [-1, 1]
  std::vector<double> share;  ///< [point][channel in that order]: of the sample in the mean over a channel
};
struct ExposurePoints {
  int n_node = 1;  ///< of a rule over the exposure
  int n_point = 1;
  std::vector<double> at;     ///< [point], in [-1, 1]
  std::vector<double> share;  ///< the same of the mean over an exposure
  double growth = 1;          ///< the largest sum of magnitudes of those of a cell
};

/// How the means of a row are found.
struct RowMeans {
  bool by_points = false;
  std::uint8_t n_time = 1, n_frequency = 1;  ///< nodes of rules
  std::int16_t band = 0, exposure = 0;       ///< which points: keys of CellMeans
};

struct CellMeans {
  std::vector<RowMeans> rows;
  std::size_t stride = 0;             ///< of shares from point to point: channels, with some more for whole vectors
  std::vector<std::uint32_t> order;   ///< channels in the order of frequency
  std::vector<double> half_width_hz;  ///< [channel]: 0 without smearing by bandwidth
  double low_hz = 0, high_hz = 0;     ///< what cells reach
  double highest_hz = 0;              ///< magnitude of a frequency
  std::map<int, BandPoints> bands;    ///< by how far phases turn; shares are made last
  std::map<int, ExposurePoints> exposures;
  double n_sample = 0;   ///< of all rows
  double n_product = 0;  ///< of shares and samples
  double n_share = 0;    ///< with the nodes of rules that make them
  double growth = 1;     ///< by how much errors of samples may grow in means
  double error = 0;      ///< bound of what means of exact samples are wrong by
  std::string obstacle;

  bool is_smeared_in_time(const RowMeans& row) const {
    return row.by_points ? exposures.at(row.exposure).n_point > 1 : row.n_time > 1;
  }
};

/// `error`: what each mean may be wrong by. That samples alone take longer than `worth_seconds` is an obstacle.
CellMeans plan_means(const Summed& of, double error, double worth_seconds);
void finish_means(CellMeans& means, const Channels& channels);

}  // namespace rimetree::psv::uv_grid
