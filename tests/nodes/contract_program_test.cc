// The contract's third part: what a class gives as a program is what its function of one cell gives in extended
// precision, cell by cell.
#include "memory/host_device.h"
#include "runtime/cell/cell_program.h"
#include "tests/support/contract_fixture.h"

namespace rimetree::test {
namespace {

TEST_P(ContractTest, ProgramIsTheFunctionOfOneCell) {
  for (const int sources : {2, 20}) {  // written out, and mapped over
    for (const auto& [in_time, in_frequency] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      TestForest tree = with_children(in_time, in_frequency, sources);
      tree.node("x", GetParam(), children(), recipe_.state);
      const ResultPtr result = tree.evaluate("x");
      const Node& node = tree.built->node(tree.built->find("x"));
      const auto* recordable = dynamic_cast<const RecordableNode*>(&node);
      if (recordable == nullptr || !recordable->is_recordable()) return;
      expect_ok(result);
      for (const std::string& note : tree.evaluator->notes().list())
        EXPECT_EQ(note.find("cell by cell"), std::string::npos) << note;

      std::vector<ResultPtr> kept;
      std::vector<const Result*> inputs;
      for (const std::string& name : children()) {
        kept.push_back(tree.evaluator->evaluate(tree.request, name));
        inputs.push_back(kept.back().get());
      }
      Result unused;
      const Evaluation evaluation(node, tree.request, tree.evaluator->pool(), inputs, unused);
      MovedValues wanted;
      ASSERT_TRUE(node.evaluate_moved(evaluation, 0, wanted));
      ASSERT_EQ(wanted.size(), result->value.size());
      long double largest = 0;
      for (const auto& z : wanted) largest = std::max(largest, abs(z));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Complex<double> z =
            result->value.is_complex() ? result->value.complex()[i] : Complex<double>(result->value.real()[i]);
        // A few roundings of numbers no larger than the largest; smearing takes sines of tens of radians.
        EXPECT_LE(abs(Complex<long double>(z.re, z.im) - wanted[i]), 5e-14L * largest) << "number " << i;
      }
    }
  }
}

}  // namespace
}  // namespace rimetree::test
