// Jobs that run a program on all items of a cell job: a node class's body, or a reduction, or PSV's general way.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/device/cell_job.h"
#include "runtime/device/job_launch.h"

namespace rimetree {

template <class Program>
struct ProgramJob {
  Program program;
  CellJob cells;
  std::size_t bytes_per_value;  ///< of results
};

/// A cell job with all its arrays where the host finds them: each result and each child an array of its own.
struct CellsOnHost {
  CellsOnHost(const memory::Device& device, const CellJob& from, std::size_t bytes_per_value);
  CellsOnHost(const CellsOnHost&) = delete;
  CellJob job;
  std::vector<CellItem> items;
  std::vector<CellArray> children;
  std::vector<std::byte*> arrays;
};

template <class Program>
struct JobOnHost<ProgramJob<Program>> {
  JobOnHost(const memory::Device& device, const ProgramJob<Program>& from)
      : cells(device, from.cells, from.bytes_per_value), job{from.program, cells.job, from.bytes_per_value} {}
  CellsOnHost cells;
  ProgramJob<Program> job;
};

/// Out: the number type of the result.
template <class Out, class Program>
void launch_program(memory::Queue& queue, const Program& program, const CellJob& cells) {
  launch_job(queue, ProgramJob<Program>{program, cells, sizeof(Out)}, [](const ProgramJob<Program>& job) {
    for (std::int32_t k = 0; k < job.cells.n_item; ++k)
      for (std::size_t i = 0; i < job.cells.d_item[k].n_thread; ++i) job.program(job.cells, job.cells.d_item[k], i);
  });
}

}  // namespace rimetree
