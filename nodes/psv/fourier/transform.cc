#include "nodes/psv/fourier/transform.h"

#include <fftw3.h>

#include <map>
#include <mutex>
#include <new>

#include "runtime/core/error.h"

namespace rimetree::psv::fourier {
namespace {

// FFTW's planner is not to be entered by two threads at once; executing a plan is.
std::mutex planner;

class FftwTransform final : public FourierTransform {
 public:
  explicit FftwTransform(std::size_t n) : FourierTransform(n) {
    struct Free {
      void operator()(fftw_complex* p) const { fftw_free(p); }
    };
    const std::unique_ptr<fftw_complex, Free> in(fftw_alloc_complex(n)), out(fftw_alloc_complex(n));
    if (!in || !out) throw std::bad_alloc();
    plan_ =
        fftw_plan_dft_1d(static_cast<int>(n), in.get(), out.get(), FFTW_BACKWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    if (plan_ == nullptr) throw Error("FFTW has no plan for a transform of length " + std::to_string(n));
  }
  ~FftwTransform() override { fftw_destroy_plan(plan_); }

  void run(const Complex<double>* in, Complex<double>* out) const override {
    // FFTW keeps its hands off the input, but does not say so in its types.
    auto* from = const_cast<fftw_complex*>(reinterpret_cast<const fftw_complex*>(in));
    fftw_execute_dft(plan_, from, reinterpret_cast<fftw_complex*>(out));
  }

 private:
  fftw_plan plan_ = nullptr;
};

}  // namespace

std::shared_ptr<const FourierTransform> FourierTransform::of_length(std::size_t n) {
  static std::map<std::size_t, std::shared_ptr<const FourierTransform>> made;
  const std::lock_guard lock(planner);
  auto& plan = made[n];
  if (!plan) plan = std::make_shared<FftwTransform>(n);
  return plan;
}

std::size_t good_transform_length(std::size_t n) {
  for (std::size_t length = (n + 15) / 16 * 16;; length += 16) {
    std::size_t rest = length;
    for (const std::size_t prime : {2, 3, 5})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1) return length;
  }
}

}  // namespace rimetree::psv::fourier
