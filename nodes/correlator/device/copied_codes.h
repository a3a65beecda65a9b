// Samples in host memory on their way to a device: copied as they lie, in runs as long as possible.
#pragma once

#include "nodes/correlator/device/codes.h"
#include "nodes/correlator/sample_view.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree::correlator {

/// Bytes that a view of samples spans, from its first on.
std::int64_t span_of(const SampleView& samples);

/// Copies times [first, first + n) to `to`, n times all channels and inputs without gaps, and says how they lie there;
/// `bytes` is left empty.
CodeView copy_codes(const SampleView& samples, std::size_t first, std::size_t n, std::uint8_t* to, ThreadPool& threads);

}  // namespace rimetree::correlator
