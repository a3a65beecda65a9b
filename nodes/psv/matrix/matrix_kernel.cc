#include "nodes/psv/matrix/matrix_kernel.h"

#include "nodes/psv/matrix/matrix_block.h"
#include "nodes/psv/matrix/unit.h"

namespace rimetree::psv::matrix {
namespace {

template <class T, MatrixUnitKind kKind>
struct OnHost {
  using Type = HostUnit<T, kKind>;
};

template <class T>
void launch_some(memory::Queue& queue, const MatrixJob<T>& job) {
  if (job.n_tile == 0 || job.n_run == 0) return;
  launch_job(queue, job, [](const MatrixJob<T>& on_host) {
    with_matrix_kernel<OnHost>(on_host, [&]<class Kernel>() { run_blocks<Kernel>(on_host); });
  });
}

}  // namespace

void launch(memory::Queue& queue, const MatrixJob<float>& job) { launch_some(queue, job); }
void launch(memory::Queue& queue, const MatrixJob<double>& job) { launch_some(queue, job); }

}  // namespace rimetree::psv::matrix
