// Streams that bring some inputs each: put side by side by the numbers of their samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodes/correlator/sample_stream.h"

namespace rimetree::correlator {

/// What one of them does not have the mask leaves out for its inputs.
class LinkStream final : public SampleStream {
 public:
  struct Link {
    std::string name;  ///< for reports
    std::unique_ptr<SampleStream> stream;
  };
  /// `shape`: of all links together, which have as many inputs each, in the order of the links.
  LinkStream(std::vector<Link> links, const StreamShape& shape);
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) override;
  std::string report() const override;

 private:
  /// Copies what a link has of samples [first, first + n).
  void take(const SampleBlock& block, std::size_t link, std::int64_t first);

  std::vector<Link> links_;
  StreamShape shape_;
  std::vector<std::uint8_t> codes_;  ///< [time][channel][input]
  SampleMask mask_{0, 0};
};

/// Throws Error where the inputs cannot be shared out among so many links.
void check_links(const StreamShape& shape, std::size_t n_link);

}  // namespace rimetree::correlator
