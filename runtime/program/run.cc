#include "runtime/program/pairs.h"
#include "runtime/program/runner.h"

namespace rimetree::program {

void Program::run(const Data& data) const {
  if (!pairs_ || data.adds || !are_pairs(data, inner_)) return Runner(*this, data).run();
  Data pairs = data;
  const std::vector<Array> inputs = as_pairs(data.inputs, inner_), outputs = as_pairs(data.outputs, inner_);
  pairs.inputs = inputs;
  pairs.outputs = outputs;
  pairs.cells.extent[static_cast<std::size_t>(inner_)] *= 2;
  pairs_->run(pairs);
}

}  // namespace rimetree::program
