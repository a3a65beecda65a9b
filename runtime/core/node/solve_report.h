// What a Solver has to say of one solve: per connected group of unknowns whether and how it converged, and the solution
// with its errors, unknown by unknown.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rimetree {

/// Why the value of an unknown is not to be trusted; 0: it is good. Bits, several may be set.
enum SolutionFlag : std::int32_t {
  kNotSolved = 1,      ///< its solution tile has no cells in this request, or it depends on no data
  kNoData = 2,         ///< no good datum depends on it: all are flagged, without weight or not finite
  kUndetermined = 4,   ///< the data do not determine it: too few, or only in combination with others
  kAtBound = 8,        ///< held by its minimum or maximum
  kNotConverged = 16,  ///< the fit of its group ended before it converged, and this had still to go
  kAmbiguous = 32,  ///< of Jones matrices only the products on the baselines solved are determined, as where two sets
                    ///< of antennas have no baselines among themselves: good for these baselines, of no use on others
};

/// Unknowns that share data, and so are solved together; different groups share none.
struct SolvedGroup {
  std::string status;  ///< "converged", "exhausted", "stalled", "no equations", "model not finite"
  bool converged = false;
  int iterations = 0;
  std::size_t unknowns = 0, rank = 0;
  std::uint64_t equations = 0;  ///< real ones from data; a complex datum is two
  std::uint64_t priors = 0;     ///< unknowns with a normal prior: one more equation each
  std::uint64_t flagged = 0, bad_weight = 0,
                not_finite = 0;                  ///< data left out: flagged; weight not positive; NaN or Inf
  double chi_square_before = 0, chi_square = 0;  ///< of the data: sum of weight times residual squared
  double prior_chi_square_before = 0, prior_chi_square = 0;  ///< of the priors; a solve makes the sum of both small
  double condition = 0;
  double time_s[2] = {0, 0}, freq_hz[2] = {0, 0};  ///< first and last edge of the cells it uses
  /// The intervals that these cells make where there are gaps between them; else empty.
  std::vector<std::array<double, 2>> time_ranges_s, freq_ranges_hz;
};

/// What became of a Parm, in the shape of its `value`.
struct SolvedParm {
  std::string parm;
  std::vector<std::int64_t> shape;
  std::vector<double> value, sigma;  ///< sigma: standard error, NaN where there is none
  std::vector<double> cross;        ///< of the real or imaginary part of a number the covariance with the other, else 0
  std::vector<std::int32_t> flag;   ///< SolutionFlag
  std::vector<std::int32_t> group;  ///< index into SolveReport::groups, -1 where not solved
  /// Time slots and channels that were solved on but lie outside of all its solution tiles: they take the nearest one.
  std::uint64_t slots_outside = 0, channels_outside = 0;
  bool normalised = false;  ///< of what the data leave open between factors, the convention holds its part
};

struct SolveReport {
  std::string solver;  ///< name of the node
  std::string method;  ///< how the normal equations were made
  std::uint64_t data_id = 0;
  std::vector<SolvedGroup> groups;
  std::vector<SolvedParm> parms;
  /// Of the data and of the priors of all groups together, before each iteration and at the end.
  std::vector<double> chi_square, prior_chi_square;
  double evaluate_seconds = 0;         ///< evaluation of nodes
  double algebra_seconds = 0;          ///< making and solving normal equations
  std::uint64_t statistics_bytes = 0;  ///< what the fast path keeps of the data; 0: the generic one
  double noise = 1;  ///< of the residuals, as estimated, in units of what the weights say; chi-square is in its units
  double smoothed_hz = 0;  ///< full width along frequency over which solutions are smooth by the fit itself; 0: none
  std::uint64_t bytes_to_devices = 0, bytes_to_host = 0;  ///< copied meanwhile; 0 where there are no devices
};

/// One iteration of a Solver.
struct SolveProgress {
  const std::string& solver;
  int iteration = 0;
  double chi_square = 0;
  std::size_t groups_running = 0, groups = 0;
};

/// Where Solvers report.
struct SolveLog {
  std::vector<SolveReport> reports;
  std::function<void(const SolveProgress&)> progress;  ///< after each iteration, on the calling thread; may be empty
};

}  // namespace rimetree
