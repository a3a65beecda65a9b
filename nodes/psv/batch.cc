#include "nodes/psv/batch.h"

#include <algorithm>
#include <set>
#include <vector>

#include "nodes/psv/brightness_terms.h"
#include "nodes/psv/compare.h"
#include "nodes/psv/folded_terms.h"
#include "nodes/psv/general/devices.h"
#include "nodes/psv/linear_sums.h"
#include "nodes/psv/packed_skies.h"
#include "nodes/psv/pull_back.h"
#include "nodes/psv/repeated_terms.h"
#include "nodes/psv/slices.h"
#include "nodes/psv/verify_results.h"
#include "runtime/core/node/node.h"

namespace rimetree::psv {
namespace {

/// What the host reads, by as few copies as possible.
void bring_inputs_to_host(BatchContext& context, std::span<Evaluation* const> evaluations) {
  if (context.devices.empty()) return;
  std::vector<const Vells*> inputs;
  for (const Evaluation* evaluation : evaluations) {
    const auto children = evaluation->child_values();
    inputs.insert(inputs.end(), children.begin(), children.end());
  }
  bring_to_host(inputs);
}

/// evaluate(evaluations of the group); what is wrong is wrong with each of them.
template <class F>
void evaluate_or_fail(const std::vector<ForwardSum>& group, const F& evaluate) {
  std::vector<Evaluation*> evaluations;
  for (const ForwardSum& sum : group) evaluations.push_back(sum.evaluation);
  try {
    evaluate(std::span<Evaluation* const>(evaluations));
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    for (Evaluation* evaluation : evaluations) evaluation->fail(error.what());
  }
}

/// Values and derivatives of nodes that the kernels take.
void evaluate_sums(BatchContext& context, const ChildLayout& layout, std::vector<ForwardSum> sums, PackedSkies& skies) {
  const auto derivatives =
      std::stable_partition(sums.begin(), sums.end(), [](const auto& sum) { return sum.derivative == nullptr; });
  std::vector<ForwardSum> others(derivatives, sums.end());
  sums.erase(derivatives, sums.end());
  // Values first: derivatives that are made with them are none of the others.
  for (const std::vector<ForwardSum>& group : sums_of_one_sky(layout, sums))
    evaluate_or_fail(group, [&](std::span<Evaluation* const> evaluations) {
      const std::vector<ParameterId> unknowns = shared_unknowns(context, layout, group);
      std::set<ParameterId> made;
      const auto [total_flux, with_slopes] =
          evaluate_group(context, layout, group, skies, unknowns.empty() ? nullptr : &unknowns.front());
      for (std::size_t i = 0; i < unknowns.size() && with_slopes; ++i)
        if (i == 0 || evaluate_slopes(context, layout, group, unknowns[i], skies)) made.insert(unknowns[i]);
      const std::set<const Evaluation*> of_group(evaluations.begin(), evaluations.end());
      std::erase_if(others, [&](const ForwardSum& sum) {
        return sum.slot >= kFirstJones && made.contains(sum.derivative->parameter) && of_group.contains(sum.evaluation);
      });
      const auto operands = sky_operands<double>(*evaluations.front(), {});
      verify_results(context, layout, evaluations, &operands, layout.jones_elements.empty() ? total_flux : 0);
    });
  for (const std::vector<ForwardSum>& group : sums_of_one_sky(layout, others))
    evaluate_or_fail(group, [&](std::span<Evaluation* const>) { evaluate_group(context, layout, group, skies); });
}

class PsvKernel final : public BatchKernel {
 public:
  explicit PsvKernel(ChildLayout layout) : layout_(std::move(layout)) {}

  void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
    if (!layout_.has_common_jones) return evaluate_stacks(context, layout_, batch, skies_);
    bring_inputs_to_host(context, batch);
    RepeatedTerms repeated;
    evaluate_stacks(context, layout_, repeated.see(layout_, batch), skies_);
  }

  // With Jones terms all planes are summed anyway.
  std::vector<std::size_t> tangent_slots() const override {
    return layout_.jones_elements.empty() ? std::vector<std::size_t>{kBrightness} : std::vector<std::size_t>();
  }
  bool adds_to_originals() const override { return true; }
  void pull_back(BatchContext& context, std::span<PullBack* const> batch) override {
    if (!layout_.has_common_jones) return pull_back_stacks(context, batch);
    RepeatedTerms repeated;
    pull_back_stacks(context, repeated.see(layout_, batch));
    repeated.finish();
  }
  bool compares() const override { return true; }
  bool compare(BatchContext& context, std::span<Comparison> batch, double slope, ResidualSums& sums) override {
    std::vector<const ChildLayout*> layouts;
    bool any_common = false;
    for (const PullBack* term : batch.front().terms) {
      const auto* node = dynamic_cast<const HasLayout*>(&term->inputs.node);
      if (node == nullptr || context.devices.empty()) return false;
      layouts.push_back(&node->layout());
      any_common |= node->layout().has_common_jones;
    }
    if (!any_common) return compare_batch(context, layouts, batch, slope, sums, skies_, compared_);
    RepeatedTerms repeated;
    std::vector<Comparison> of_stacks(batch.begin(), batch.end());
    for (Comparison& comparison : of_stacks)
      for (std::size_t term = 0; term < comparison.terms.size(); ++term)
        comparison.terms[term] = &repeated.see(*layouts[term], *comparison.terms[term]);
    const bool done = compare_batch(context, layouts, of_stacks, slope, sums, skies_, compared_);
    if (done) repeated.finish();
    return done;
  }

 private:
  /// Of nodes whose Jones terms have a matrix for each source, by their layout, which is not that of the kernel where
  /// terms are folded.
  void evaluate_stacks(BatchContext& context, const ChildLayout& layout, std::span<Evaluation* const> batch,
                       PackedSkies& skies) {
    if (fold_terms(context, layout, batch, [&](FoldedTerms& folded) {
          evaluate_stacks(context, folded.layout(), folded.evaluations(), folded.skies());
        }))
      return;
    std::vector<ForwardSum> sums;
    std::vector<Evaluation*> with_kernels, general;
    for (Evaluation* evaluation : batch) {
      const auto of_node = linear_sums(*evaluation);
      if (of_node) sums.insert(sums.end(), of_node->begin(), of_node->end());
      (of_node ? with_kernels : general).push_back(evaluation);
    }
    bring_inputs_to_host(context, with_kernels);
    evaluate_sums(context, layout, std::move(sums), skies);
    general = evaluate_brightness_terms(context, layout, general);
    if (context.devices.empty()) general = evaluate_slices(context, layout, general, skies);
    if (!general.empty()) evaluate_cell_by_cell(context, layout, general);
  }

  /// Those of which only the brightness varies in time. Gives the others.
  std::vector<Evaluation*> evaluate_brightness_terms(BatchContext& context, const ChildLayout& layout,
                                                     const std::vector<Evaluation*>& batch) {
    BrightnessTerms terms(layout);
    std::vector<Evaluation*> others = terms.take(context, std::span<Evaluation* const>(batch));
    if (terms.evaluations().empty()) return others;
    context.notes.add("psv-brightness-term", std::string("PSV: ") + kBrightnessAsTerm);
    evaluate_stacks(context, terms.layout(), terms.evaluations(), terms.skies());
    return others;
  }

  /// Slice by slice, as far as that is worth while. Gives the others.
  std::vector<Evaluation*> evaluate_slices(BatchContext& context, const ChildLayout& layout,
                                           std::vector<Evaluation*> batch, PackedSkies& skies) {
    for (const Slicing slicing : kSlicings) {
      Slices slices(layout, slicing);
      batch = slices.take(std::span<Evaluation* const>(batch));
      if (slices.count() > 0)
        context.notes.add("psv-slices", "PSV: " + slicing.name() + " after the other, as " +
                                            general::obstacle_to_kernels(*slices.first()));
      for (std::int32_t slice = 0; slice < slices.count(); ++slice) {
        evaluate_stacks(context, layout, slices.evaluations_in(slice), skies);
        slices.finish();
      }
    }
    return batch;
  }

  /// By the nodes themselves where no device does it. Never of folded terms, whose nodes know them as they were: what
  /// is folded has a kernel (terms_to_fold()).
  void evaluate_cell_by_cell(BatchContext& context, const ChildLayout& layout, std::span<Evaluation* const> batch) {
    const std::vector<Evaluation*> on_host = general::evaluate_on_devices(context, layout, batch);
    bring_inputs_to_host(context, on_host);
    if (!on_host.empty()) BatchKernel::evaluate(context, on_host);
    verify_results(context, layout, batch, nullptr, 0);
  }

  void pull_back_stacks(BatchContext& context, std::span<PullBack* const> batch) {
    const std::vector<PullBack*> others = pull_back_groups(context, layout_, batch, skies_);
    if (!others.empty()) BatchKernel::pull_back(context, others);
  }

  ChildLayout layout_;
  PackedSkies skies_;
  ComparedRowsCache compared_{kMostComparedBytes};
};

}  // namespace

std::unique_ptr<BatchKernel> make_batch_kernel(ChildLayout layout) {
  return std::make_unique<PsvKernel>(std::move(layout));
}

}  // namespace rimetree::psv
