// Measurement equations written in random ways: sources as nodes or as tensors, phases of baselines or of stations,
// Jones terms on either side, patches, products in any association, matrices element by element, phases by class or by
// hand. For tests that two ways of evaluating a tree agree.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {

/// What may be wrong with one leaf of a tree.
enum class Trouble : std::uint8_t { none, flagged, flagged_by_element, missing, failing };

class RandomRime {
 public:
  RandomRime(unsigned seed, Trouble trouble, std::size_t most_sources = 5);

  TestForest tree;
  std::vector<std::string> roots;  ///< visibilities of the baselines
  std::string objective = "chi_square";

 private:
  using Names = std::vector<std::string>;
  double uniform(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  /// By numbers of their own, so that trees of a seed stay what they were but for what is added.
  bool also(double probability) { return std::uniform_real_distribution<>(0, 1)(more_) < probability; }
  std::size_t pick(std::size_t n) { return random_() % n; }
  std::string made(const std::string& class_name, const Names& children, const TestForest::Fields& state = {});
  std::string constant(const std::vector<std::int64_t>& shape, double low, double high, bool is_complex = false,
                       std::int64_t cells_rank = 0);
  std::string parm(double low, double high) {
    const std::string name = "p" + std::to_string(n_node_++);
    tree.parm(name, uniform(low, high));
    return name;
  }
  /// The node, or what trouble makes of it if it is its turn.
  std::string leaf(const std::string& node, const std::vector<double>& dims);

  void make_array();
  void make_sky();
  std::string brightness();
  std::string jones_matrix(const std::vector<std::int64_t>& stack);
  std::string conjugate(const std::string& node);
  std::string directions(std::int64_t n);
  std::string drifting_direction();
  std::string phase(const std::string& lmn, const std::string& uvw, const std::string& shape);
  std::string written_phase(const std::string& lmn, const std::string& uvw);
  std::string written_angle(const std::string& lmn, const std::string& uvw, double turn);
  Names smearing_of(const std::string& lmn, const std::string& uvw);
  std::string written_smearing(const std::string& x);
  std::string real_sum(std::size_t p, std::size_t q);
  std::string written_real_path(const std::string& lmn, const std::string& uvw);
  std::string of_both_stations(std::size_t p, std::size_t q, std::size_t s);
  std::string path(const std::string& lmn, const std::string& uvw);
  std::string dot_product(const std::string& lmn, const std::string& uvw);
  Names scalars(std::size_t p, std::size_t q, const std::string& lmn, const std::string& shape);
  std::string product(Names factors, std::vector<bool> is_matrix);
  std::string element(std::size_t p, std::size_t q, std::size_t s, std::size_t e);
  std::string of_elements(std::size_t p, std::size_t q, const std::vector<std::size_t>& sources);
  std::string term(std::size_t p, std::size_t q, std::size_t s);
  std::string sum(Names terms);
  std::string visibility(std::size_t p, std::size_t q);
  std::string of_tensors(std::size_t p, std::size_t q);

  std::mt19937 random_, more_;
  Trouble trouble_;
  std::size_t n_node_ = 0, n_antenna_ = 2, n_source_ = 1;
  int leaves_before_trouble_ = -1;
  bool tensors_ = false, stations_ = false, smears_ = false, beams_ = false, gains_inside_ = false, patches_ = false;
  /// Phases are written by hand, with n instead of n - 1, in other units, beside directions that have derivatives.
  bool by_hand_ = false, whole_n_ = false, scaled_ = false, moving_ = false;
  bool drifts_ = false;  ///< directions vary in time
  bool independent_baselines_ = false, has_rates_ = false, by_element_ = false, beam_is_scalar_ = false;
  Names station_uvw_, electrons_;           // [antenna], [source][antenna]
  std::vector<Names> baseline_uvw_, beam_;  // [p][q], [antenna][source or tensor]
  std::vector<Names> number_;               // [source][antenna, feed]; without numbers it has none
  std::string zero_;
  Names lmn_, brightness_, shape_, gain_, patch_gain_;
};

}  // namespace rimetree::test
