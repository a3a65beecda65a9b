// Normal equations of Jones terms from sums over the data. With L and R the same on all cells of a block, an element of
// the model is a sum of fixed visibilities times coefficients, V_ij = sum_k c_k m_k, c_k = L_ia R_bj, m_k = M_ab of
// term k. Chi-square then needs of a block only the sums of w |d|^2, w m_k* d and w m_k* m_l: these are made once, and
// an iteration costs as much as there are baselines and blocks, however many cells these have. (Salvini & Wijnholds
// 2014, A&A 571, A97, use the same sums for the diagonal case; here the step is Gauss-Newton's in all unknowns
// together.)
#pragma once

#include <memory>

#include "runtime/evaluate/evaluator.h"
#include "runtime/solve/assembly.h"
#include "runtime/solve/cell_sums.h"
#include "runtime/solve/device_sums.h"
#include "runtime/solve/jones_terms.h"
#include "runtime/solve/part_view.h"

namespace rimetree::solve {

class JonesSource final : public EquationSource {
 public:
  /// The source for a problem if all of its models are sums of Jones terms and the sums fit into memory; divides the
  /// problem's cells into the blocks that it needs. Nothing otherwise.
  static std::unique_ptr<JonesSource> recognise(Evaluator& evaluator, Problem& problem, RequestParts& parts,
                                                ErrorModel errors, Cancellation& cancellation);

  void add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) override;
  void set_errors(ErrorModel errors) override { errors_ = errors; }
  bool chi_square_cancels() const override { return errors_.degrees_of_freedom == 0; }
  void add_exact_chi_square(std::vector<GroupEquations>& groups, Cancellation& cancellation) override;
  /// The norms of the Jones matrices: phases may have any common offset, but not amplitudes (or the elements of a full
  /// matrix anything but a common unitary factor).
  std::vector<std::vector<Essential>> essential() const override;
  bool add_changes(std::vector<OpenSteps>& groups) const override;
  std::vector<double> approach(std::vector<double>& values, Cancellation& cancellation) override;
  std::string method() const override;
  std::uint64_t statistics_bytes() const override;

  /// For each additive term that can be solved for by itself the unknowns that occur in no other.
  std::vector<std::vector<bool>> unknowns_of_terms() const;

 private:
  /// By unknown, in how many equations with data it occurs.
  std::vector<std::size_t> occurrences() const;

  /// A product of factors on a block, with its derivatives.
  struct Product {
    std::array<Complex<double>, 4> value{};
    std::vector<std::pair<std::uint32_t, std::array<Complex<double>, 4>>> derivatives;
  };
  struct Planes;  // results of one equation's nodes
  class Numbers;
  enum class Sweep { sums, exact };

  JonesSource(Evaluator& evaluator, Problem& problem, RequestParts& parts, ErrorModel errors,
              std::vector<JonesModel> models);
  /// Fixed visibilities that an element of the model is made of.
  std::size_t n_basis(std::uint32_t equation) const { return n_basis_[equation]; }
  std::size_t block_of(const Item& item) const;
  Complex<double>* sums_of(const Item& item, std::size_t element);
  const Complex<double>* sums_of(const Item& item, std::size_t element) const;
  const ScalarSums& scalars_of(const Item& item, std::size_t element) const;
  std::vector<Item> items() const;
  /// Those of some equations in the part that is looked at.
  std::vector<Item> items(std::size_t first, std::size_t last) const;
  void append_items(std::uint32_t equation, std::uint32_t first_segment, std::uint32_t end_segment,
                    std::vector<Item>& items) const;

  using Products = std::vector<std::array<Product, 2>>;  ///< by solvable term: left, right
  bool evaluate_factors(Cancellation& cancellation);
  Product product(const std::vector<int>& factors, const Item& item) const;
  Products products(const Item& item) const;
  std::vector<Complex<double>> coefficients(std::uint32_t equation, std::size_t element,
                                            const Products& products) const;
  void append_coefficients(std::uint32_t equation, std::size_t element, const Product& left, const Product& right,
                           std::vector<Complex<double>>& c) const;
  void find_products();
  std::size_t blocks_at_a_time() const;
  void contribute(const Item& item, const Product* products, Contribution& contribution) const;
  template <class Body>
  void for_each_element(const Numbers& numbers, const Body& body) const;
  double relative_chi_square(const Numbers& numbers) const;
  std::vector<double> chi_squares(const Numbers& numbers) const;
  double find_layer(Numbers& numbers, std::size_t layer, double share) const;
  void sweep(Sweep what, Cancellation& cancellation);
  void sweep_part(Sweep what, Cancellation& cancellation);
  void sweep_on_host(std::size_t first, std::span<const Planes> planes, Sweep what, const std::vector<bool>& done,
                     Cancellation& cancellation);
  /// [first, last) equations whose data and fixed visibilities are looked at together.
  std::vector<std::pair<std::size_t, std::size_t>> portions() const;
  std::vector<int> fixed_nodes(std::size_t equation) const;
  Planes planes_of(std::size_t equation, std::span<const ResultPtr> results);

  // On devices, which keep what they have been sent; see jones_devices.cc.
  bool is_worth_devices(std::span<const Planes> planes) const;
  SumInput sum_input(std::size_t equation, const Planes& planes) const;
  SumBlocks sum_blocks() const;
  void start(const SumShare& share, DeviceSums& sums, Sweep what) const;
  void finish(const SumShare& share, DeviceSums& on_device);
  void sweep_on_devices(std::size_t first, std::span<const Planes> planes, Sweep what, bool keep,
                        std::vector<bool>& done, Cancellation& cancellation);
  bool sweep_again(Sweep what);
  struct Chunk;  ///< some cells of one element, gathered
  /// Cells of a chunk, from `at` on: those of n times from one on, of `width` channels from one on.
  struct Rows {
    std::size_t at, time, n, channel, width;
  };
  void sum_block(const Planes& planes, const Item& item, Sweep what);
  void append_rows(const Planes& planes, const Item& item, std::size_t element, const Rows& rows, Chunk& chunk) const;
  void weigh(const Planes& planes, const Item& item, std::size_t element, Chunk& chunk, ScalarSums& sums) const;
  void add_chunk(const Planes& planes, const Item& item, std::size_t element, Sweep what,
                 const std::vector<Complex<double>>& c, Chunk& chunk, ScalarSums& sums);

  Evaluator& evaluator_;
  Problem& problem_;
  RequestParts& parts_;
  PartView part_;  ///< that is looked at
  Request factor_request_;
  ErrorModel errors_;
  std::vector<JonesModel> models_;
  std::size_t elements_, side_;          ///< of a visibility: 4 and 2, or 1 and 1
  std::vector<std::size_t> n_basis_;     ///< by equation
  std::vector<std::size_t> first_;       ///< by equation: where its sums begin among those of a block; and their number
  std::vector<Complex<double>> values_;  ///< [block, equation, element]: b_k, the lower triangle of H_kl
  std::vector<ScalarSums> scalars_;      ///< [block, equation, element]
  std::vector<int> factor_nodes_;
  std::vector<ResultPtr> factors_;                 ///< by node of the forest
  std::vector<std::uint8_t> has_data_, complex_;   ///< by equation
  std::vector<std::vector<int>> product_factors_;  ///< of each different product of factors
  std::vector<std::vector<std::array<std::uint32_t, 2>>>
      sides_;                      ///< by equation and solvable term: left, right product
  std::vector<Product> products_;  ///< [block, product] of the blocks that are being looked at
  bool summed_ = false;
  /// Of the last sweep, if devices had room for all of it.
  std::vector<std::pair<SumShare, std::unique_ptr<DeviceSums>>> shares_;
};

}  // namespace rimetree::solve
