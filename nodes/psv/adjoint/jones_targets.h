// Where the adjoints of a batch's Jones terms are collected: antennas' terms are children of many baselines.
#pragma once

#include <map>
#include <vector>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/operands.h"

namespace rimetree::psv::adjoint {

class JonesCollector {
 public:
  explicit JonesCollector(const ChildLayout& layout) : n_side_(layout.jones_elements.size()) {}

  /// The next baseline, as JonesOperands::add(). `to_originals`: terms that are conjugate transposes gain where what
  /// they are the transposes of does.
  void add(const PullBack& pull, bool to_originals) {
    for (std::size_t k = 0; k < n_side_; ++k) {
      Vells* original = to_originals ? pull.original(kFirstJones + k) : nullptr;
      Vells* child = original != nullptr ? original : pull.child(kFirstJones + k);
      children_.push_back(child);
      of_original_.push_back(original != nullptr);
      if (child == nullptr) continue;
      const bool moves = child->cells()[Axis::time] > 1;
      std::size_t& n = moves ? n_moving_ : n_steady_;
      if (places_.try_emplace(child, Place{static_cast<std::ptrdiff_t>(n), moves}).second) n += child->size();
    }
  }

  /// Valid as long as this is, and until the next call of add().
  JonesTargets targets() {
    if (places_.empty()) return {};
    first_.clear(), slopes_.clear();
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Vells* child = children_[i];
      first_.push_back(child == nullptr ? -1 : first_of(places_.at(child)));
      slopes_.push_back(child == nullptr      ? TermSlopes{}
                        : child->is_complex() ? TermSlopes{child->complex(), nullptr, of_original_[i]}
                                              : TermSlopes{nullptr, child->real(), of_original_[i]});
    }
    return {first_.data(), slopes_.data(), n_moving_, n_steady_};
  }

  /// Adds what was found to the children, if it was not added there at once.
  void add_to_children(const SourceAdjoints& found) const {
    if (found.moving_jones.empty() && found.steady_jones.empty()) return;
    for (const auto& [child, place] : places_) {
      const Complex<double>* from = (place.moves ? found.moving_jones : found.steady_jones).data() + place.first;
      Complex<double>* z = child->is_complex() ? child->complex() : nullptr;
      double* x = z != nullptr ? nullptr : child->real();
      for (std::size_t i = 0, n = child->size(); i < n; ++i)
        z != nullptr ? void(z[i] += from[i]) : void(x[i] += from[i].re);
    }
  }

 private:
  struct Place {
    std::ptrdiff_t first;  // among those that move, or those that do not
    bool moves;
  };
  std::ptrdiff_t first_of(const Place& place) const {
    return place.moves ? place.first : static_cast<std::ptrdiff_t>(n_moving_) + place.first;
  }

  std::size_t n_side_, n_moving_ = 0, n_steady_ = 0;
  std::map<Vells*, Place> places_;
  std::vector<Vells*> children_;  ///< [baseline][pair][p, q]
  std::vector<std::ptrdiff_t> first_;
  std::vector<bool> of_original_;
  std::vector<TermSlopes> slopes_;
};

}  // namespace rimetree::psv::adjoint
