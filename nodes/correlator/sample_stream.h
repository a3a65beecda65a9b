// Where samples come from, block by block: who correlates them asks for some, and whoever gives them asks for those
// that it needs in turn. Memory does not grow with the length of an observation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "nodes/correlator/sample_mask.h"
#include "nodes/correlator/sample_view.h"
#include "runtime/core/threads/cancellation.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree {
class BatchKernel;
class DeviceContext;
class Forest;
}  // namespace rimetree

namespace rimetree::correlator {

/// What is the same for all samples of a source.
struct StreamShape {
  SampleFormat format;
  std::size_t n_channel = 1, n_input = 0;
  double start_s = 0;     ///< when sample 0 begins, MJD
  double interval_s = 1;  ///< from one sample of a channel to the next
  double unit = 1;        ///< of the numbers, in least significant bits of what the digitisers gave
  /// Samples of a channel that would tell as much if they were independent, divided by their number: below 1 where the
  /// windows of a filter bank overlap.
  double independent = 1;
};

/// Consecutive samples.
struct SampleBlock {
  SampleView view;
  std::int64_t first = 0;            ///< number of the first one
  const SampleMask* mask = nullptr;  ///< of view's samples; nullptr: all count
  DeviceContext* where = nullptr;    ///< whose memory the samples are; nullptr: the host's
};

/// Samples by number, in ascending order. Those of files can be asked for again.
class SampleStream {
 public:
  virtual ~SampleStream() = default;
  /// Samples [first, first + n), or the part of them that there is: none of them lie outside, and what is missing
  /// between them the mask leaves out. Valid until the next call. Throws Error naming the source where it is damaged.
  virtual SampleBlock read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) = 0;
  /// From now on samples may be left on that device; nullptr: on the host, and all memory there is given back.
  virtual void work_on(DeviceContext* /*device*/) {}
  /// What a report should say of the samples read so far (lost packets, numbers that were cut off); may be empty.
  virtual std::string report() const { return {}; }
  /// What makes all products wrong (nearly all numbers are cut off); may be empty.
  virtual std::string warning() const { return {}; }
};

/// A node that samples come from. Its value is one number for each input, sample_interval_s; who wants samples opens
/// it.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// `forest`: of which the node is part; a source that transforms samples opens its child.
  virtual StreamShape shape(const Forest& forest) const = 0;
  virtual std::unique_ptr<SampleStream> open(const Forest& forest) const = 0;
};

/// Gives a source's node its value.
std::unique_ptr<BatchKernel> interval_kernel();

/// The source that is a child of a node; throws Error where that is none.
const SampleSource& source_below(const Forest& forest, int node, std::size_t slot = 0);

/// Tells states of that source, and of the sources below it, from others: after a change a stream is opened anew.
std::uint64_t fingerprint_below(const Forest& forest, int node, std::size_t slot = 0);

}  // namespace rimetree::correlator
