// Normal equations of Jones terms from sums over the data. With L and R the same on all cells of a block, an element of
// the model is a sum of fixed visibilities times coefficients, V_ij = sum_k c_k m_k, c_k = L_ia R_bj, m_k = M_ab of
// term k. Chi-square then needs of a block only the sums of w |d|^2, w m_k* d and w m_k* m_l: these are made once, and
// an iteration costs as much as there are baselines and blocks, however many cells these have. (Salvini & Wijnholds
// 2014, A&A 571, A97, use the same sums for the diagonal case; here the step is Gauss-Newton's in all unknowns
// together.)
#pragma once

#include <memory>

#include "runtime/solve/equations/assembly.h"
#include "runtime/solve/jones/jones_sweep.h"

namespace rimetree::solve {

class JonesSource final : public EquationSource {
 public:
  /// `smooth_hz`: as SolveOptions. `evaluated`: models are read in the forest that is evaluated, too, where the user's
  /// has no terms; then whatever evaluates may throw PlanRefused.
  struct Manner {
    ErrorModel errors;
    double smooth_hz = 0;
    bool evaluated = true;
  };
  /// The source for a problem if all of its models are sums of Jones terms and the sums fit into memory; divides the
  /// problem's cells into the blocks that it needs. Nothing otherwise.
  static std::unique_ptr<JonesSource> recognise(Evaluator& evaluator, Problem& problem, RequestParts& parts,
                                                const Manner& manner, Cancellation& cancellation);

  void add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) override;
  void set_errors(ErrorModel errors) override { errors_ = errors; }
  bool chi_square_cancels() const override { return errors_.degrees_of_freedom == 0 && smoothed_hz_ == 0; }
  double smoothed_hz() const override { return smoothed_hz_; }
  void add_exact_chi_square(std::vector<GroupEquations>& groups, Cancellation& cancellation) override;
  /// The norms of the Jones matrices: phases may have any common offset, but not amplitudes (or the elements of a full
  /// matrix anything but a common unitary factor).
  void look_again(Cancellation& cancellation) override { products_.evaluate(cancellation); }
  std::vector<std::vector<Essential>> essential() const override;
  std::vector<std::vector<ProductOnBlock>> products() const override;
  void changes_of(ProductOnBlock of, Contribution& changes) const override;
  std::vector<double> approach(std::vector<double>& values, Cancellation& cancellation) override;
  std::string method() const override;
  std::uint64_t statistics_bytes() const override { return sums_.bytes(); }

  /// For each Parm the number of the additive term in which it occurs, or -1 where it occurs in several.
  std::vector<int> terms_of_parms() const;

 private:
  JonesSource(Evaluator& evaluator, ModelForest forest, Problem& problem, RequestParts& parts, ErrorModel errors,
              std::vector<JonesModel> models);
  static std::unique_ptr<JonesSource> make(ModelForest read, std::vector<JonesModel> models, Evaluator& evaluator,
                                           Problem& problem, RequestParts& parts, const Manner& manner,
                                           Cancellation& cancellation);
  /// Whether there are more sums than data, and derivatives of the models cost less.
  bool sums_up_too_little(const CellShape& cells) const;
  /// By unknown, in how many equations with data it occurs.
  std::vector<std::size_t> occurrences() const;
  void make_sums(Cancellation& cancellation);
  Item item_of(std::uint32_t equation, std::size_t block) const {
    const std::size_t n_frequency = problem_.frequency_segments().size();
    return {equation, static_cast<std::uint32_t>(block / n_frequency), static_cast<std::uint32_t>(block % n_frequency)};
  }
  void find_items(std::size_t first, std::size_t last, const std::vector<GroupEquations>& groups,
                  std::vector<Item>& items, std::vector<std::uint32_t>& blocks) const;

  Evaluator& evaluator_;
  Problem& problem_;
  ErrorModel errors_;
  JonesProducts products_;
  JonesSums sums_;
  JonesSweep sweep_;
  double smoothed_hz_ = 0;
  std::vector<double> centre_hz_;  ///< of frequency segments, where solutions are smooth
  bool summed_ = false;
};

}  // namespace rimetree::solve
