// Fixed points that are approached slowly, as by solving for some unknowns after the others in turns: from several
// steps of such a loop the place where it would end is extrapolated (Anderson 1965, J. ACM 12, 547; Walker & Ni 2011,
// SIAM J. Numer. Anal. 49, 1715).
#pragma once

#include <cstddef>
#include <vector>

namespace rimetree::fit {

class Acceleration {
 public:
  /// `most`: steps that are remembered.
  explicit Acceleration(std::size_t most = 10) : most_(most) {}

  /// A step of the loop went from `start` to `end`; where to begin the next one. That is `end` if nothing better is
  /// known. All vectors have one length.
  std::vector<double> next(const std::vector<double>& start, const std::vector<double>& end);
  /// The last extrapolation was no good: begins anew.
  void forget();

 private:
  std::size_t most_;
  std::vector<double> last_end_, last_step_;
  std::vector<std::vector<double>> ends_,
      steps_;  // differences of ends and of steps, of one step of the loop to the next
};

}  // namespace rimetree::fit
