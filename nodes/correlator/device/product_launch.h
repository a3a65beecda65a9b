// Starts the kernels of products on whatever device a queue belongs to (runtime/device/job_launch.h).
#pragma once

#include "memory/queue.h"
#include "nodes/correlator/device/nibble_job.h"
#include "nodes/correlator/device/pair_job.h"
#include "nodes/correlator/device/tile_job.h"

namespace rimetree::correlator {

// Each queues one launch, NibbleJob three. The arrays that the job names must stay until it is done. They throw
// std::logic_error on a GPU without the plugin.
void launch(memory::Queue& queue, const UnpackJob& job);
void launch(memory::Queue& queue, const TileJob& job);
void launch(memory::Queue& queue, const PairJob& job);
void launch(memory::Queue& queue, const NibbleJob& job);

}  // namespace rimetree::correlator
