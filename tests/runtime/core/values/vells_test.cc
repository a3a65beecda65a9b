// Conjugate transposes that are written when they are read.
#include "runtime/core/values/vells.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "memory/host_device.h"

namespace rimetree {
namespace {

std::shared_ptr<memory::Pool> pool() {
  static memory::HostDevice host;
  return memory::Pool::create(host);
}

/// Two stacks of matrices of 2 x 3 elements on two cells: 1 + 0.5i, 2 + 1i, ...
Vells stack(memory::Pool& memory) {
  Vells x(memory, NumberType::complex, {2, 2, 3}, CellShape{{1, 2, 1, 1}});
  for (std::size_t i = 0; i < x.size(); ++i) x.complex()[i] = {1.0 + double(i), 0.5 * (1.0 + double(i))};
  return x;
}

TEST(ConjugateTransposes, AreThoseOfEachMatrixOnEachCell) {
  const auto memory = pool();
  const Vells x = stack(*memory), y = Vells::conjugate_transpose(*memory, x);
  EXPECT_EQ(y.dims(), (TensorShape{2, 3, 2}));
  EXPECT_EQ(y.cells(), x.cells());
  for (std::size_t m = 0; m < 2; ++m)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t cell = 0; cell < 2; ++cell)
          EXPECT_EQ(y.at(m * 6 + i * 2 + j, cell), conj(x.at(m * 6 + j * 3 + i, cell))) << m << i << j << cell;
}

TEST(ConjugateTransposes, OfRealNumbersAndOfScalars) {
  const auto memory = pool();
  Vells real(*memory, NumberType::real, {2, 2}, CellShape{});
  for (std::size_t i = 0; i < 4; ++i) real.real()[i] = double(i);
  const Vells of_real = Vells::conjugate_transpose(*memory, real);
  EXPECT_FALSE(of_real.is_complex());
  EXPECT_EQ(std::vector<double>(of_real.real(), of_real.real() + 4), (std::vector<double>{0, 2, 1, 3}));

  Vells scalars(*memory, NumberType::complex, {2}, CellShape{});
  scalars.complex()[0] = {1, 2}, scalars.complex()[1] = {3, -4};
  const Vells conjugates = Vells::conjugate_transpose(*memory, scalars);
  EXPECT_EQ(conjugates.at(0), Complex<double>(1, -2));
  EXPECT_EQ(conjugates.at(1), Complex<double>(3, 4));
}

TEST(ConjugateTransposes, AreWrittenOnceForAllWhoReadThem) {
  const auto memory = pool();
  Vells original = stack(*memory);
  const Vells y = Vells::conjugate_transpose(*memory, original), same = y;
  const void* where = original.host();
  ASSERT_NE(y.original(), nullptr);
  EXPECT_EQ(y.original()->host(), where);
  EXPECT_EQ(original.original(), nullptr);
  original = Vells();  // they keep what they are made from
  const void* seen[2] = {};
  std::thread other([&] { seen[0] = y.host(); });
  seen[1] = same.host();
  other.join();
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_NE(seen[0], where);
  EXPECT_EQ(y.at(0), Complex<double>(1, -0.5));
}

TEST(ConjugateTransposes, OfConjugateTransposesAreTheOriginalNumbers) {
  const auto memory = pool();
  const Vells x = stack(*memory);
  const Vells twice = Vells::conjugate_transpose(*memory, Vells::conjugate_transpose(*memory, x));
  ASSERT_EQ(twice.dims(), x.dims());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(twice.complex()[i], x.complex()[i]);
}

}  // namespace
}  // namespace rimetree
