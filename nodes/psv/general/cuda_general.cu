// The general path of PSV on a GPU: its programs by the launcher of all classes of cells.
#include "nodes/psv/general/cell_problem.h"
#include "runtime/cell/cuda_cells.h"

namespace rimetree::psv {
namespace {

[[maybe_unused]] const bool registered = [] {
  add_gpu_launcher("PSV", program_variant(true, false), &launch_cells<GeneralProgram<false>>);
  add_gpu_launcher("PSV", program_variant(true, true), &launch_cells<GeneralProgram<true>>);
  return true;
}();

}  // namespace
}  // namespace rimetree::psv
