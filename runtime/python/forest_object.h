// The Python face of a forest with its evaluator.
#pragma once

#include "runtime/evaluate/evaluator.h"
#include "runtime/python/python.h"

namespace rimetree::python {

/// Makes the type; call once when the module is made.
Ref make_forest_type();

/// build_forest(definitions, child_names, threads, memory_budget, device, as_written): {name: definition} with what
/// definitions.py says of them; and {name: [name of a child]} of nodes of which some child is something else than a
/// node.
PyObject* build_forest(PyObject* self, PyObject* arguments);

/// The evaluator behind a Forest object, for as long as this lives. Python threads may share a forest, but not evaluate
/// it at the same time: then it throws Error.
class EvaluatorInUse {
 public:
  explicit EvaluatorInUse(PyObject* forest);
  ~EvaluatorInUse();
  EvaluatorInUse(const EvaluatorInUse&) = delete;
  EvaluatorInUse& operator=(const EvaluatorInUse&) = delete;
  Evaluator& operator*() const { return *evaluator_; }
  Evaluator* operator->() const { return evaluator_; }

 private:
  Ref forest_;
  Evaluator* evaluator_;
};

/// A request for cells as a sequence of (centres, widths) per axis, None for an axis that is not there.
Request request_of(PyObject* cells, PyObject* precision, double tolerance);
/// A dict of status, value, flags, derivatives and failures.
Ref result_to_python(const Forest& forest, const Result& result);

/// A cancellation that looks for Ctrl-C; call on the thread that holds the GIL, which it may give up later.
Cancellation interruptible();

}  // namespace rimetree::python
