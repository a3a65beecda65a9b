// Normal equations of any tree: the Condeqs are evaluated with their exact derivatives, some at a time.
#pragma once

#include <map>

#include "runtime/evaluate/evaluator.h"
#include "runtime/solve/equations/assembly.h"
#include "runtime/solve/problem/part_view.h"
#include "runtime/solve/sums/device_sums.h"

namespace rimetree::solve {

class GenericSource final : public EquationSource {
 public:
  GenericSource(Evaluator& evaluator, const Problem& problem, RequestParts& parts, ErrorModel errors);
  void add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) override;
  void set_errors(ErrorModel errors) override { errors_ = errors; }
  std::string method() const override { return "derivatives of every Condeq"; }

 private:
  /// Results of one equation's nodes; nullptr where there are no data, or a device has done it.
  struct Inputs {
    const Result* condeq = nullptr;
    const Result* data = nullptr;
    const Result* weight = nullptr;
  };
  void add_part(std::vector<GroupEquations>& groups, Cancellation& cancellation);
  static void bring_to_host(std::span<const Inputs> inputs);
  void compute(const Inputs& inputs, const Item& item, Contribution& contribution) const;
  /// Consecutive equations whose results with derivatives fit into the memory budget together.
  std::vector<std::pair<std::size_t, std::size_t>> stretches() const;

  // On devices; see generic_devices.cc.
  /// Where in the normal equations of which groups sums of a share of the equations belong.
  struct Assembly {
    SumLists lists;
    std::vector<std::int32_t> groups;
    std::vector<std::size_t> first;  ///< by group: of its numbers among the totals
    std::vector<bool> wanted;        ///< groups that were when this was made
  };
  class AssemblyBuilder;
  void add_on_devices(std::size_t begin, std::span<Inputs> inputs, std::vector<GroupEquations>& groups,
                      Cancellation& cancellation);
  SumInput sum_input(std::size_t equation, const Inputs& inputs) const;
  const Assembly& assembly(const SumShare& share, std::size_t begin, std::span<const Inputs> inputs,
                           std::size_t n_number, const std::vector<GroupEquations>& groups);
  void add_totals(const Assembly& assembly, std::span<const double> totals, int dimensions,
                  std::vector<GroupEquations>& groups) const;

  Evaluator& evaluator_;
  const Problem& problem_;
  RequestParts& parts_;
  PartView part_;  ///< that is looked at
  std::uint64_t iteration_ = 0;
  ErrorModel errors_;
  std::map<std::uint64_t, Assembly> assemblies_;  ///< by what identifies the share and its derivatives
};

/// Throws Error with the first failure among the results, if there is one.
void check_failures(std::span<const ResultPtr> results);

}  // namespace rimetree::solve
