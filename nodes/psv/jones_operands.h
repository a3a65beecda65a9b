// The Jones terms of a batch of baselines, read where the children's results are: antennas' terms are children of many
// baselines, and may be large.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "nodes/psv/kernel.h"
#include "nodes/psv/operands.h"

namespace rimetree::psv {

class JonesOperands {
 public:
  /// `first_source`: which all sums begin with; `pool`: for what is copied.
  JonesOperands(const ChildLayout& layout, memory::Pool& pool, std::ptrdiff_t first_source)
      : layout_(layout), pool_(pool), first_source_(first_source) {}

  /// Adds the next baseline: J_p, J_q^H, J_p, J_q^H .., the innermost pair first, are what child(i) points to; nullptr
  /// leaves a side without views. Views of them are kept; or, unless each has to be read `as_it_is`, of what they are
  /// the conjugate transposes of: antennas' terms are then written, and read, once.
  template <class Child>
  void add(const Child& child, bool as_it_is) {
    for (std::size_t i = 0; i < layout_.jones_elements.size(); ++i) {
      const bool is_matrix = layout_.jones_elements[i] == 4;
      if (i % 2 == 0) pairs_.emplace_back();
      JonesPair<double>& pair = pairs_.back();
      (i % 2 == 0 ? pair.p_is_matrix : pair.q_is_matrix) = is_matrix;
      auto& views = i % 2 == 0 ? pair.p : pair.q;
      const Vells* term = child(i);
      if (term == nullptr) continue;
      const Vells* original = as_it_is ? nullptr : term->original();
      set_views(original != nullptr ? *original : *term, is_matrix ? 4 : 1, views);
      if (original == nullptr) continue;
      (i % 2 == 0 ? pair.p_is_conjugated : pair.q_is_conjugated) = term->is_complex();
      (i % 2 == 0 ? pair.p_is_transposed : pair.q_is_transposed) = true;
      std::swap(views[1], views[2]);
    }
  }

  /// Valid until the next call of add().
  JonesTerms terms() const {
    return {.n_pair = static_cast<int>(layout_.jones_elements.size() / 2),
            .pairs = pairs_.data(),
            .varies_in_frequency = varies_in_frequency_,
            .varies_in_time = varies_in_time_};
  }

 private:
  void set_views(const Vells& value, int per_source, Strided<Complex<double>>* views) {
    const CellShape& cells = value.cells();
    const auto plane = static_cast<std::ptrdiff_t>(cells.size());
    const auto stride = broadcast_strides(cells);
    const Complex<double>* data = value.is_complex() ? value.complex() : made_complex(value);
    for (int e = 0; e < per_source; ++e)
      views[e] = {data + (first_source_ * per_source + e) * plane, per_source * plane,
                  static_cast<std::ptrdiff_t>(stride[0]), static_cast<std::ptrdiff_t>(stride[1])};
    varies_in_frequency_ |= cells[Axis::frequency] > 1;
    varies_in_time_ |= cells[Axis::time] > 1;
  }

  /// Terms of real numbers are copied, once each.
  const Complex<double>* made_complex(const Vells& value) {
    const auto [copy, is_new] = copies_.try_emplace(value.host());
    if (is_new) {
      copy->second = Vells(pool_, NumberType::complex, value.dims(), value.cells());
      std::copy_n(value.real(), value.size(), copy->second.complex());
    }
    return copy->second.complex();
  }

  const ChildLayout& layout_;
  memory::Pool& pool_;
  std::ptrdiff_t first_source_;
  std::vector<JonesPair<double>> pairs_;  ///< [baseline][pair]
  std::map<const void*, Vells> copies_;
  bool varies_in_frequency_ = false, varies_in_time_ = false;
};

}  // namespace rimetree::psv
