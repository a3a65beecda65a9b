#include "nodes/psv/compare.h"

#include <deque>
#include <set>

#include "nodes/psv/adjoint/sky_adjoints.h"
#include "nodes/psv/bundle.h"
#include "nodes/psv/device/compare_solve.h"
#include "nodes/psv/planner/solve.h"
#include "runtime/core/fingerprint.h"

namespace rimetree::psv {
using namespace adjoint;
using namespace device;
using namespace planner;
namespace {

/// Comparisons whose terms see the same skies.
class ComparedGroup {
 public:
  ComparedGroup(BatchContext& context, std::span<const ChildLayout* const> layouts,
                std::vector<const Comparison*> comparisons, PackedSkies& skies, ComparedRowsCache& cache)
      : context_(context), layouts_(layouts), comparisons_(std::move(comparisons)), rests_(comparisons_.size()) {
    for (std::size_t k = 0; k < layouts.size(); ++k) {
      Bundle& bundle = bundles_.emplace_back(context, *layouts[k], skies, in_reverse(*layouts[k], first(k)));
      for (const Comparison* one : comparisons_) bundle.add(in_reverse(*layouts[k], *one->terms[k]));
    }
    version_ = layouts.size();
    for (const Comparison* one : comparisons_) version_ = mix(version_, one->version);
    rows_ = cache.get(version_, [this] {
      auto rows = make_rows();
      return std::pair(rows, rows->bytes());
    });
  }
  ComparedGroup(const ComparedGroup&) = delete;

  /// Throws memory::OutOfMemory.
  void evaluate(double slope);
  /// Adds what evaluate() found.
  void add(ResidualSums& sums) const;

 private:
  const PullBack& first(std::size_t term) const { return *comparisons_.front()->terms[term]; }
  const Cells& cells() const { return first(0).inputs.cells(); }
  std::size_t n_time() const { return static_cast<std::size_t>(cells().shape()[Axis::time]); }
  const Result& rest(std::size_t i) {
    if (!rests_[i]) rests_[i] = comparisons_[i]->rest();
    return *rests_[i];
  }
  std::shared_ptr<const ComparedRows> make_rows();
  void write(std::size_t first_row, std::size_t n_row, std::size_t first_channel, std::size_t n_channel,
             Complex<double>* data, double* weight);

  BatchContext& context_;
  std::span<const ChildLayout* const> layouts_;
  std::vector<const Comparison*> comparisons_;
  std::vector<ResultPtr> rests_;  // made where they are needed
  std::uint64_t version_ = 0;
  std::shared_ptr<const ComparedRows> rows_;
  std::deque<Bundle> bundles_;  // by term
  ComparisonResult found_;
};

std::shared_ptr<const ComparedRows> ComparedGroup::make_rows() {
  auto made = std::make_shared<ComparedRows>();
  const std::size_t n_channel = cells().axis(Axis::frequency).centre.size();
  made->wanted.assign(comparisons_.size() * n_time(), 0);
  for (std::size_t i = 0; i < comparisons_.size(); ++i) {
    const ResidualWeights weights(rest(i));
    for (std::size_t e = 0; e < 4; ++e)
      for (std::size_t t = 0; t < n_time(); ++t)
        for (std::size_t f = 0; f < n_channel; ++f) {
          const double w = weights.at(e, {static_cast<int>(t), static_cast<int>(f), 0, 0});
          if (w != 0 && made->weights.add_weight(w, 2)) made->wanted[i * n_time() + t] = 1;
        }
  }
  made->rows.resize(layouts_.size());
  for (std::size_t k = 0; k < layouts_.size(); ++k) {
    GroupRows<const unsigned char>& rows = made->rows[k];
    for (std::size_t i = 0; i < comparisons_.size(); ++i)
      rows.add(*layouts_[k], comparisons_[i]->terms[k]->inputs, static_cast<std::int32_t>(n_time()),
               made->wanted.data() + i * n_time(), 1);
    rows.keep_if([](const unsigned char* wanted) { return *wanted != 0; });
    rows.finish(*layouts_[k]);
  }
  return made;
}

void ComparedGroup::write(std::size_t first_row, std::size_t n_row, std::size_t first_channel, std::size_t n_channel,
                          Complex<double>* data, double* weight) {
  const GroupRows<const unsigned char>& rows = rows_->rows.front();
  for (std::size_t r = first_row; r < first_row + n_row; ++r) {
    const Result& residual = rest(static_cast<std::size_t>(rows.baseline[r]));
    const ResidualWeights weights(residual);
    const auto stride = broadcast_strides(residual.value.cells());
    for (std::size_t e = 0; e < 4; ++e)
      for (std::size_t f = first_channel; f < first_channel + n_channel; ++f, ++data, ++weight) {
        const double w = weights.at(e, {rows.time[r], static_cast<int>(f), 0, 0});
        *weight = ResidualWeights::is_sound(w) ? w : 0;
        *data = residual.value.at(e, static_cast<std::size_t>(rows.time[r]) * stride[0] + f * stride[1]);
      }
  }
}

void ComparedGroup::evaluate(double slope) {
  const bool any_rows = rows_->rows.front().rows.n_row > 0;
  std::vector<ComparedTerm> terms;
  for (std::size_t k = 0; k < layouts_.size(); ++k) {
    terms.push_back({bundles_[k].over(rows_->rows[k].rows), bundles_[k].wish()});
    const ComparedTerm& term = terms.back();
    if (any_rows)
      warn_of_large_cells(context_, first(k).inputs.node,
                          largest_phase_change(term.sky.extent, term.channels, term.rows));
    else
      found_.adjoint.push_back(zero_adjoints(term.sky, term.wish, term.jones.targets));
  }
  if (!any_rows) return;
  const ComparedData data{version_, [this](auto... arguments) { write(arguments...); }};
  found_ = compare_on_devices(terms, data, slope, tolerance_of(first(0).inputs.request), machine_of(context_));
  context_.notes.add("psv-device-chi-square", "PSV: " + found_.report);
}

void ComparedGroup::add(ResidualSums& sums) const {
  ResidualSums own = rows_->weights;
  own.chi_square = found_.chi_square;
  own.lost[0] = found_.lost;
  sums.add(own);
  for (std::size_t k = 0; k < layouts_.size(); ++k) bundles_[k].add_to_children(found_.adjoint[k]);
}

/// Whether all that are smeared along frequency are so over the same widths.
bool have_same_widths(std::span<const ChildLayout* const> layouts) {
  std::set<double> widths;
  for (const ChildLayout* layout : layouts)
    if (layout->is_smeared_in_frequency()) widths.insert(layout->widths.freq_hz);
  return widths.size() <= 1;
}

/// Whether all of a comparison's terms are sums that the kernels take, on all cells of the request.
bool is_comparable(std::span<const ChildLayout* const> layouts, const Comparison& comparison) {
  if (!have_same_widths(layouts)) return false;
  for (std::size_t k = 0; k < layouts.size(); ++k) {
    const PullBack& term = *comparison.terms[k];
    if (!has_kernel(term)) return false;
    const CellShape& cells = term.inputs.cells().shape();
    if (n_time(*layouts[k], term.inputs) != cells[Axis::time] || cells.extent[2] != 1 || cells.extent[3] != 1)
      return false;
  }
  return true;
}

/// The skies of its terms.
std::vector<SkyKey> skies_of(std::span<const ChildLayout* const> layouts, const Comparison& comparison) {
  std::vector<SkyKey> keys;
  for (std::size_t k = 0; k < layouts.size(); ++k)
    keys.push_back(sky_key(*layouts[k], in_reverse(*layouts[k], *comparison.terms[k])));
  return keys;
}

}  // namespace

bool compare_batch(BatchContext& context, std::span<const ChildLayout* const> layouts, std::span<Comparison> batch,
                   double slope, ResidualSums& sums, PackedSkies& skies, ComparedRowsCache& cache) {
  std::vector<const Comparison*> all;
  for (const Comparison& comparison : batch) {
    if (!is_comparable(layouts, comparison)) return false;
    all.push_back(&comparison);
  }
  std::vector<std::unique_ptr<ComparedGroup>> groups;
  const Node& node = batch.front().terms.front()->inputs.node;
  try {
    for (auto& same : groups_by(all, [&](const Comparison* one) { return skies_of(layouts, *one); })) {
      groups.push_back(std::make_unique<ComparedGroup>(context, layouts, std::move(same), skies, cache));
      groups.back()->evaluate(slope);
    }
  } catch (const memory::OutOfMemory& error) {
    context.warnings.add("psv-device-memory",
                         "node \"" + node.name() + "\" is compared with data on the host: " + error.what());
    return false;
  }
  for (const auto& group : groups) group->add(sums);
  return true;
}

}  // namespace rimetree::psv
