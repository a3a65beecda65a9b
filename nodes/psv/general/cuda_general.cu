// The general path of PSV on a GPU: its programs by the launcher of all classes of cells.
#include "nodes/psv/general/cell_problem.h"
#include "runtime/device/cuda_cells.h"

namespace rimetree::psv::general {
namespace {

[[maybe_unused]] const bool brought =
    bring_launcher(&launch_cells<GeneralProgram<false>>) && bring_launcher(&launch_cells<GeneralProgram<true>>);

}  // namespace
}  // namespace rimetree::psv::general
