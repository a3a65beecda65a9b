// Reports of Solvers as Python objects.
#pragma once

#include "runtime/core/node/solve_report.h"
#include "runtime/python/convert.h"

namespace rimetree::python {

/// A list of dicts, with arrays of groups and of unknowns.
Ref reports_to_python(std::vector<SolveReport> reports);

/// What calls a Python function after each iteration of a Solver: f(solver, iteration, chi_square, running, groups).
/// An exception that it raises ends the evaluation.
std::function<void(const SolveProgress&)> progress_caller(PyObject* function);

}  // namespace rimetree::python
