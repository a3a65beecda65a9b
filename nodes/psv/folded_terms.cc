// With 1000 sources, 64 dishes of two kinds, 64 channels and 5 times, terms that are applied on each baseline take 3.1
// times as long as dishes that are all alike, folded ones 1.2 times (2 cores of an AMD EPYC with AVX-512, 2026-11-27).
#include "nodes/psv/folded_terms.h"

#include <algorithm>
#include <map>

#include "nodes/psv/body.h"
#include "runtime/core/fingerprint.h"

namespace rimetree::psv {

namespace {

// Of one core for each source and channel, in nanoseconds: to fold its terms and to read what came of it, and what
// terms cost on each row beside those of a sky without. Their ratio is what counts: 30 to 40 rows for each product were
// as fast either way where the matrix product takes the terms (2 cores of an AMD EPYC with AVX-512, 2026-11-27).
constexpr double kFold = 60, kTermsOfRow = 1.5;

/// That a brightness with terms in it may take; to read it takes thrice as much again.
constexpr double kMostBytes = 1 << 28;

using Key = std::vector<const Result*>;  // brightness and terms

Key key_of(const Evaluation& evaluation) {
  const auto terms = evaluation.children().subspan(kFirstJones);
  Key key{&evaluation.child(kBrightness)};
  key.insert(key.end(), terms.begin(), terms.end());
  return key;
}

/// Whether its terms may go into a brightness that does not vary in time, of which nobody wants a derivative.
bool can_be_folded(const Evaluation& evaluation) {
  if (evaluation.has_derivatives() || !is_constant_in_time(evaluation)) return false;
  return std::ranges::all_of(evaluation.children().subspan(kFirstJones),
                             [](const Result* term) { return term->value.cells()[Axis::time] == 1; });
}

CellShape cells_of(std::span<const Result* const> children) {
  CellShape cells;
  for (const Result* child : children) cells = broadcast(cells, child->value.cells());
  return cells;
}

bool is_hermitian(const Jones<double>& b) { return b.xx.im == 0 && b.yy.im == 0 && b.xy == conj(b.yx); }

/// J^H, or J itself where it is a real number.
bool is_conjugate_of(const Vells& one, const Vells& other) {
  if (!one.is_complex() && one.dims().rank < 2) return one.host() == other.host();
  return one.original() != nullptr && one.original()->host() == other.host();
}
/// Whether the terms right of the brightness are the conjugate transposes of those left of it.
bool is_one_antennas(const Key& key) {
  for (std::size_t i = 1; i < key.size(); i += 2)
    if (!is_conjugate_of(key[i + 1]->value, key[i]->value)) return false;
  return true;
}

}  // namespace

std::string folded_text(std::size_t skies) {
  return std::to_string(skies) + " products of brightness and Jones terms, each for many baselines";
}

bool folding_pays(const ChildLayout& layout, double rows, double skies, double n_channel) {
  return 4 * sizeof(Complex<double>) * layout.n_source * n_channel <= kMostBytes && skies * kFold <= rows * kTermsOfRow;
}

std::vector<std::vector<Evaluation*>> terms_to_fold(BatchContext& context, const ChildLayout& layout,
                                                    std::span<Evaluation* const> batch) {
  if (!context.devices.empty() || layout.jones_elements.empty() || layout.n_source == 0) return {};
  std::map<Key, std::size_t> sky_of;
  std::vector<std::vector<Evaluation*>> skies;
  double rows = 0, folds = 0, most = 0;
  for (Evaluation* evaluation : batch) {
    if (!can_be_folded(*evaluation)) return {};
    const Key key = key_of(*evaluation);
    rows += n_time(layout, *evaluation) * evaluation->cells().shape()[Axis::frequency];
    const auto [sky, is_new] = sky_of.try_emplace(key, skies.size());
    if (is_new) {
      skies.emplace_back();
      const double n_channel = cells_of(key)[Axis::frequency];
      folds += n_channel;
      most = std::max(most, n_channel);
    }
    skies[sky->second].push_back(evaluation);
  }
  if (!folding_pays(layout, rows, folds, most)) return {};
  context.notes.add("psv-folded-terms", "PSV: " + folded_text(skies.size()));
  return skies;
}

FoldedTerms::FoldedTerms(ThreadPool& threads, const ChildLayout& layout, std::span<Evaluation* const> baselines)
    : folded_(layout) {
  folded_.jones_elements.clear();
  for (const int elements : layout.jones_elements)
    folded_.brightness_elements = std::max(folded_.brightness_elements, static_cast<std::int32_t>(elements));
  fold(threads, layout, *baselines.front());
  for (const Evaluation* evaluation : baselines) {
    std::vector<const Result*>& children =
        children_.emplace_back(evaluation->children().begin(), evaluation->children().begin() + kFirstJones);
    children[kBrightness] = &brightness_;
    without_terms_.push_back(&evaluations_.emplace_back(evaluation->node, evaluation->request, evaluation->pool,
                                                        children, evaluation->result));
  }
}

void FoldedTerms::fold(ThreadPool& threads, const ChildLayout& layout, const Evaluation& evaluation) {
  const auto sky = sky_operands<double>(evaluation, {});
  const auto baseline = baseline_operands<double>(layout, evaluation, {});
  const Problem<double> problem = problem_of(layout, evaluation, sky, baseline);
  const Key key = key_of(evaluation);
  const bool conjugated = is_one_antennas(key);
  const CellShape cells = cells_of(key);
  const auto n_channel = static_cast<std::size_t>(cells[Axis::frequency]);
  const auto per_source = static_cast<std::size_t>(folded_.brightness_elements);
  const TensorShape dims = per_source == 1 ? TensorShape{layout.n_source} : TensorShape{layout.n_source, 2, 2};
  brightness_.value = Vells(evaluation.pool, NumberType::complex, dims, cells);
  Complex<double>* to = brightness_.value.complex();
  threads.parallel_for(static_cast<std::size_t>(layout.n_source), 16, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t s = begin; s < end; ++s)
      for (std::size_t f = 0; f < n_channel; ++f) {
        const auto source = static_cast<std::ptrdiff_t>(s), channel = static_cast<std::ptrdiff_t>(f);
        Jones<double> b = corrupted_brightness(problem, source, 0, channel);
        // To the last bit, as a Hermitian sky has half as much to sum up.
        if (conjugated && is_hermitian(matrix_at<double>(problem.brightness, source, 0, channel)))
          b.xx.im = b.yy.im = 0, b.yx = conj(b.xy);
        const Complex<double> elements[] = {b.xx, b.xy, b.yx, b.yy};
        for (std::size_t e = 0; e < per_source; ++e) to[(s * per_source + e) * n_channel + f] = elements[e];
      }
  });
  brightness_.stamp = 1;
  for (const Result* part : key)
    brightness_.stamp = part->stamp == 0 || brightness_.stamp == 0 ? 0 : mix(brightness_.stamp, part->stamp);
}

}  // namespace rimetree::psv
