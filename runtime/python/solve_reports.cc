#include "runtime/python/solve_reports.h"

#include <memory>

#include "runtime/python/array.h"
#include "runtime/python/interpreter.h"

namespace rimetree::python {

namespace {

using Owner = std::shared_ptr<const SolveReport>;

template <class T>
Ref view(const Owner& owner, const std::vector<T>& values, const std::vector<std::int64_t>& shape, const char* format) {
  return make_array(owner, values.data(), std::vector<Py_ssize_t>(shape.begin(), shape.end()), format, sizeof(T));
}

Ref group_to_python(const SolvedGroup& group) {
  Dict dict;
  dict.set("status", text(group.status)).set("converged", boolean(group.converged));
  dict.set("iterations", integer(group.iterations));
  dict.set("unknowns", integer(static_cast<std::int64_t>(group.unknowns)));
  dict.set("rank", integer(static_cast<std::int64_t>(group.rank))).set("condition", number(group.condition));
  dict.set("equations", integer(static_cast<std::int64_t>(group.equations)));
  dict.set("priors", integer(static_cast<std::int64_t>(group.priors)));
  dict.set("flagged", integer(static_cast<std::int64_t>(group.flagged)));
  dict.set("bad_weight", integer(static_cast<std::int64_t>(group.bad_weight)));
  dict.set("not_finite", integer(static_cast<std::int64_t>(group.not_finite)));
  dict.set("chi_square_before", number(group.chi_square_before)).set("chi_square", number(group.chi_square));
  dict.set("prior_chi_square_before", number(group.prior_chi_square_before));
  dict.set("prior_chi_square", number(group.prior_chi_square));
  dict.set("time_s", tuple(number(group.time_s[0]), number(group.time_s[1])));
  dict.set("freq_hz", tuple(number(group.freq_hz[0]), number(group.freq_hz[1])));
  const auto pair = [](const std::array<double, 2>& range) { return tuple(number(range[0]), number(range[1])); };
  dict.set("time_ranges_s", list_of(group.time_ranges_s, pair))
      .set("freq_ranges_hz", list_of(group.freq_ranges_hz, pair));
  return dict.take();
}

Ref solve_report_to_python(const Owner& report) {
  Dict parms;
  for (const SolvedParm& parm : report->parms) {
    Dict one;
    one.set("value", view(report, parm.value, parm.shape, "d")).set("sigma", view(report, parm.sigma, parm.shape, "d"));
    one.set("cross", view(report, parm.cross, parm.shape, "d"));
    one.set("flag", view(report, parm.flag, parm.shape, "i")).set("group", view(report, parm.group, parm.shape, "i"));
    one.set("slots_outside", integer(static_cast<std::int64_t>(parm.slots_outside)));
    one.set("channels_outside", integer(static_cast<std::int64_t>(parm.channels_outside)));
    one.set("normalised", boolean(parm.normalised));
    parms.set(parm.parm, one.take());
  }
  Dict dict;
  dict.set("solver", text(report->solver)).set("method", text(report->method));
  dict.set("groups", list_of(report->groups, group_to_python)).set("parms", parms.take());
  dict.set("chi_square", number_list(report->chi_square));
  dict.set("prior_chi_square", number_list(report->prior_chi_square));
  dict.set("noise", number(report->noise));
  dict.set("smoothed_hz", number(report->smoothed_hz));
  dict.set("evaluate_seconds", number(report->evaluate_seconds));
  dict.set("algebra_seconds", number(report->algebra_seconds));
  dict.set("statistics_bytes", integer(static_cast<std::int64_t>(report->statistics_bytes)));
  dict.set("bytes_to_devices", integer(static_cast<std::int64_t>(report->bytes_to_devices)));
  dict.set("bytes_to_host", integer(static_cast<std::int64_t>(report->bytes_to_host)));
  return dict.take();
}

}  // namespace

Ref reports_to_python(std::vector<SolveReport> reports) {
  std::vector<Owner> owners;
  for (SolveReport& report : reports) owners.push_back(std::make_shared<const SolveReport>(std::move(report)));
  return list_of(owners, solve_report_to_python);
}

std::function<void(const SolveProgress&)> progress_caller(PyObject* function) {
  if (function == Py_None) return {};
  // The reference is given up by whoever replaces the function, who holds the interpreter.
  return [function = std::make_shared<Ref>(Ref::borrowed(function))](const SolveProgress& state) {
    with_gil([&] {
      const Ref arguments = tuple(text(state.solver), integer(state.iteration), number(state.chi_square),
                                  integer(static_cast<std::int64_t>(state.groups_running)),
                                  integer(static_cast<std::int64_t>(state.groups)));
      const Ref returned = check(PyObject_CallObject(function->get(), arguments.get()));
    });
  };
}

}  // namespace rimetree::python
