// Beside a brightness that does not vary, 2016 baselines, 10 times and 64 channels take 4 ms more with these terms, and
// 24 ms more in slices, of 10 sources; 8 and 25 ms of 100, 42 and 24 ms of 1000 (two cores of an AMD EPYC with AVX-512,
// 2026-11-27). In reverse, terms and their conjugate transposes gain by themselves: that they do so in one array
// (PullBack::original) makes less than 5 % of 780 baselines, 8 times, 32 channels and 100 sources (the same machine).
#include "nodes/psv/brightness_terms.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

#include "nodes/psv/slices.h"
#include "runtime/core/fingerprint.h"

namespace rimetree::psv {

namespace {

// What a pair of terms takes of one core, in nanoseconds: for each source, cell and node, and for each source, cell and
// antenna; and reading a brightness at one time, for each source and channel.
constexpr double kTerm = 0.2, kNumberOfAntenna = 1.7, kMatrixOfAntenna = 6.5, kRead = 20;

bool is_possible(const Evaluation& evaluation) {
  if (!evaluation.cells().has(Axis::time) || !places_are_constant(evaluation)) return false;
  if (evaluation.child(kLmn).value.is_complex()) return false;
  for (const std::size_t slot : {kLmn, kUvw, kShape})
    if (evaluation.has_child(slot) && !evaluation.child(slot).derivatives.empty()) return false;
  return evaluation.child(kBrightness).value.cells()[Axis::time] > 1;
}

/// Marks the sources that have some brightness, at whatever time and channel; no numbers are some.
void mark_lit(const Vells& brightness, std::span<std::uint8_t> is_lit) {
  const auto* values = static_cast<const double*>(brightness.host());
  const std::size_t of_each = brightness.size() * (brightness.is_complex() ? 2 : 1) / is_lit.size();
  for (std::size_t s = 0; s < is_lit.size(); ++s)
    is_lit[s] |= std::any_of(values + s * of_each, values + (s + 1) * of_each, [](double x) { return x != 0; });
}

}  // namespace

ChildLayout with_brightness_as_term(ChildLayout layout) {
  layout.is_dark_without_flux = layout.jones_elements.empty();
  layout.jones_elements.insert(layout.jones_elements.begin(), {static_cast<int>(layout.brightness_elements), 1});
  layout.brightness_elements = 1;
  return layout;
}

bool brightness_as_term_pays(const ChildLayout& layout, std::size_t n_node, const CellShape& cells, int n_channel,
                             bool in_reverse) {
  const double n = double(n_node), n_time = cells[Axis::time];
  const double n_antenna = 0.5 + std::sqrt(0.25 + 2 * n);
  const double of_antenna = layout.brightness_elements == 1 ? kNumberOfAntenna : kMatrixOfAntenna;
  const double terms =
      double(layout.n_source) * n_time * cells[Axis::frequency] * (kTerm * n + 2 * of_antenna * n_antenna);
  const double slices = n_time * (slice_nanoseconds(n_node) + kRead * layout.n_source * n_channel);
  const double by_cell = cell_by_cell_nanoseconds(n_node, layout.n_source, cells, in_reverse);
  return slice_nanoseconds(n_node) + terms < std::min(slices, by_cell);
}

BrightnessTerms::BrightnessTerms(const ChildLayout& layout)
    : given_layout_(layout), layout_(with_brightness_as_term(layout)) {}

template <class Item>
std::vector<Item*> BrightnessTerms::others_than_taken(const BatchContext& context, std::span<Item* const> batch,
                                                      std::vector<Item*>& taken) {
  const bool on_host = context.devices.empty();
  if (!on_host && std::is_same_v<Item, Evaluation>) return {batch.begin(), batch.end()};
  std::vector<Item*> others;
  for (Item* item : batch) {
    const bool takes = is_possible(inputs_of(*item)) && !asks_for_baselines(*item);
    (takes ? taken : others).push_back(item);
  }
  if (taken.empty()) return others;
  const Evaluation& first = inputs_of(*taken.front());
  CellShape cells = first.cells().shape();
  cells[Axis::time] = n_time(given_layout_, first);
  const int n_channel = first.child(kBrightness).value.cells()[Axis::frequency];
  if (on_host &&
      !brightness_as_term_pays(given_layout_, taken.size(), cells, n_channel, std::is_same_v<Item, PullBack>)) {
    taken.clear();
    return {batch.begin(), batch.end()};
  }
  make_unit(std::span<Item* const>(taken));
  return others;
}

void BrightnessTerms::make_unit(std::span<Evaluation* const> taken) {
  const bool all = !layout_.is_dark_without_flux || std::ranges::any_of(taken, [](const Evaluation* evaluation) {
    return !evaluation->child(kBrightness).derivatives.empty();  // which a source may have without a value
  });
  std::vector<std::uint8_t> is_lit(static_cast<std::size_t>(layout_.n_source), all ? 1 : 0);
  std::set<const Result*> seen;
  for (const Evaluation* evaluation : taken)
    if (const Result& brightness = evaluation->child(kBrightness); !all && seen.insert(&brightness).second)
      mark_lit(brightness.value, is_lit);
  set_unit(*taken.front(), is_lit);
}

void BrightnessTerms::make_unit(std::span<PullBack* const> taken) {
  set_unit(taken.front()->inputs, std::vector<std::uint8_t>(static_cast<std::size_t>(layout_.n_source), 1));
}

void BrightnessTerms::set_unit(const Evaluation& first, std::span<const std::uint8_t> is_lit) {
  unit_.value = Vells(first.pool, NumberType::real, {layout_.n_source}, CellShape{});
  std::copy(is_lit.begin(), is_lit.end(), unit_.value.real());
  unit_.stamp = mix(mix(0, std::string_view("sources of 1 Jy, or dark")), fingerprint(std::as_bytes(is_lit)));
}

Evaluation& BrightnessTerms::with_terms(const Evaluation& evaluation) {
  std::vector<const Result*>& children =
      children_.emplace_back(evaluation.children().begin(), evaluation.children().end());
  const Result* brightness = children[kBrightness];
  children[kBrightness] = &unit_;
  children.resize(std::max<std::size_t>(children.size(), kFirstJones), nullptr);
  children.insert(children.begin() + kFirstJones, {brightness, &unit_});
  return made_.emplace_back(evaluation.node, evaluation.request, evaluation.pool, children, evaluation.result);
}

std::vector<Evaluation*> BrightnessTerms::take(const BatchContext& context, std::span<Evaluation* const> batch) {
  std::vector<Evaluation*> taken, others = others_than_taken(context, batch, taken);
  for (const Evaluation* given : taken) evaluations_.push_back(&with_terms(*given));
  return others;
}

std::vector<PullBack*> BrightnessTerms::take(const BatchContext& context, std::span<PullBack* const> batch) {
  std::vector<PullBack*> taken, others = others_than_taken(context, batch, taken);
  for (const PullBack* given : taken) {
    const Evaluation& inputs = with_terms(given->inputs);
    std::vector<Vells*> targets(inputs.children().size(), nullptr);
    for (const std::size_t slot : {kLmn, kShape})
      if (inputs.has_child(slot)) targets[slot] = given->child(slot);
    targets[kFirstJones] = given->child(kBrightness);
    for (std::size_t slot = kFirstJones; slot < given->inputs.children().size(); ++slot)
      targets[slot + 2] = given->child(slot);
    pulls_.push_back(&made_pulls_.emplace_back(inputs, given->adjoint, std::move(targets), given->gradient));
  }
  return others;
}

}  // namespace rimetree::psv
