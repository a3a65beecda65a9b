// Blocks of threads on the host. Threads are fibers that one host thread runs in random order up to the next barrier or
// matrix instruction, so that what is right only in one order shows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tests/gpu/emulation/launch.h"

namespace rimetree::emulation {

/// threadIdx, blockIdx, blockDim and gridDim of the thread that runs.
extern uint3 thread_index, block_index;
extern dim3 block_size, grid_size;

/// __syncthreads(). Stricter than CUDA: a thread may not have left the kernel, and all must wait in the same line.
void wait_for_block(const char* file, int line);

/// The block's dynamic shared memory, all NaN (every bit set) when a block starts.
unsigned char* dynamic_shared();

/// Says that a static variable of a kernel stands for a __shared__ one: it is filled with NaN for each block, and all
/// together are held to the 48 kB that CUDA gives without being asked.
void share(void* variable, std::size_t bytes);

/// Runs all blocks of a launch, one after the other. Stops the program with a message when a block cannot go on.
void run_blocks(const Launch& launch);

}  // namespace rimetree::emulation
