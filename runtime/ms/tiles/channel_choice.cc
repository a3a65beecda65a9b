#include "runtime/ms/tiles/channel_choice.h"

#include <algorithm>

namespace rimetree::ms {

std::vector<bool> ChannelChoice::of(const SpectralWindow& window) const {
  std::vector<bool> chosen(window.n_channel());
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    const double frequency_hz = window.frequency_hz[c];
    const bool by_number =
        numbers.empty() || std::any_of(numbers.begin(), numbers.end(),
                                       [c](const ChannelRange& range) { return range.first <= c && c < range.stop; });
    chosen[c] = by_number && (frequencies_hz.empty() ||
                              std::any_of(frequencies_hz.begin(), frequencies_hz.end(), [&](const auto& range) {
                                return range.first <= frequency_hz && frequency_hz <= range.second;
                              }));
  }
  return chosen;
}

ChannelRange ChannelChoice::range(const SpectralWindow& window) const {
  const std::vector<bool> chosen = of(window);
  ChannelRange range{chosen.size(), 0};
  for (std::size_t c = 0; c < chosen.size(); ++c)
    if (chosen[c]) range = {std::min(range.first, c), c + 1};
  return range;
}

}  // namespace rimetree::ms
