#include "nodes/psv/verify_results.h"

#include <random>

#include "nodes/psv/verify.h"
#include "runtime/core/values/largest_error.h"

namespace rimetree::psv {

void verify_results(BatchContext& context, const ChildLayout& layout, std::span<Evaluation* const> done,
                    const SkyOperands<double>* shared, double total_flux) {
  const Request& request = done.front()->request;
  std::mt19937_64 random(request.data_id);
  for (int k = 0; k < request.verify; ++k) {
    const Evaluation& evaluation = *done[random() % done.size()];
    const Vells& value = evaluation.result.value;
    if (value.empty()) continue;  // failed
    const auto own = shared ? SkyOperands<double>() : sky_operands<double>(evaluation, {});
    const auto baseline = baseline_operands<double>(layout, evaluation, {});
    const Problem<double> problem = problem_of(layout, evaluation, shared ? *shared : own, baseline);
    const auto t = static_cast<std::ptrdiff_t>(random() % static_cast<std::uint64_t>(problem.n_time));
    const auto f = static_cast<std::ptrdiff_t>(random() % static_cast<std::uint64_t>(problem.n_channel));
    const ExtendedVisibility expected = extended_visibility(problem, t, f);
    const long double flux = total_flux > 0 ? total_flux : expected.flux;
    double error = 0;
    for (std::size_t e = 0; e < 4; ++e) {
      const Complex<double> got = value.at(e, static_cast<std::size_t>(t * problem.n_channel + f));
      const auto difference = std::abs(std::complex<long double>(got.re, got.im) - expected.value[e]);
      const auto relative = static_cast<double>(flux > 0 ? difference / flux : difference);
      keep_larger(error, relative);
    }
    context.verification.add(
        error, evaluation.node.name() + " at time " + std::to_string(t) + ", channel " + std::to_string(f));
  }
}

}  // namespace rimetree::psv
