// Axes, shapes along them, tensor shapes, and strides that broadcast.
#include "runtime/core/cells/axes.h"

#include <gtest/gtest.h>

#include "memory/host_device.h"
#include "runtime/core/error.h"
#include "runtime/core/values/result.h"

namespace rimetree {
namespace {

CellShape shape(int time, int frequency, int l = 1, int m = 1) { return {{time, frequency, l, m}}; }

template <class Exception, class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Axes, NamesAreThoseOfScripts) {
  EXPECT_EQ(axis_from_name("time"), Axis::time);
  EXPECT_EQ(axis_from_name("freq"), Axis::frequency);
  EXPECT_EQ(axis_from_name("l"), Axis::l);
  EXPECT_EQ(axis_from_name("m"), Axis::m);
  const auto message = message_of<StateError>([] { axis_from_name("frequency"); });
  EXPECT_NE(message.find("\"frequency\""), std::string::npos) << message;
  EXPECT_NE(message.find("freq, l and m"), std::string::npos) << message;
}

TEST(Axes, BroadcastTakesTheLengthThatIsNotOne) {
  EXPECT_EQ(broadcast(shape(1, 1), shape(1, 1)), shape(1, 1));
  EXPECT_EQ(broadcast(shape(5, 1), shape(1, 7)), shape(5, 7));
  EXPECT_EQ(broadcast(shape(5, 7), shape(5, 1)), shape(5, 7));
  EXPECT_EQ(broadcast(shape(1, 1, 3, 1), shape(2, 1, 1, 4)), shape(2, 1, 3, 4));
  EXPECT_EQ(broadcast(shape(0, 1), shape(1, 4)), shape(0, 4)) << "no cells stay no cells";
}

TEST(Axes, BroadcastRefusesLengthsThatDiffer) {
  for (const auto& [a, b] :
       {std::pair(shape(5, 7), shape(5, 6)), std::pair(shape(5, 6), shape(5, 7)), std::pair(shape(0, 1), shape(2, 1))})
    EXPECT_THROW(broadcast(a, b), ShapeError) << to_string(a) << to_string(b);
  const auto message = message_of<ShapeError>([] { broadcast(shape(32, 64), shape(32, 63)); });
  EXPECT_NE(message.find("[time 32, freq 64]"), std::string::npos) << message;
  EXPECT_NE(message.find("[time 32, freq 63]"), std::string::npos) << message;
  EXPECT_NE(message.find("freq axis"), std::string::npos) << message;
}

TEST(Axes, SizeDoesNotWrapAtFourGiga) {
  EXPECT_EQ(shape(1, 1).size(), 1u);
  EXPECT_EQ(shape(2, 3, 4, 5).size(), 120u);
  EXPECT_EQ(shape(1 << 20, 1 << 20).size(), std::size_t{1} << 40);
}

TEST(Axes, ShapesReadWell) {
  EXPECT_EQ(to_string(shape(1, 1)), "[]");
  EXPECT_EQ(to_string(shape(32, 64)), "[time 32, freq 64]");
  EXPECT_EQ(to_string(shape(1, 64, 1, 3)), "[freq 64, m 3]");
}

TEST(BroadcastStrides, AreZeroAlongLengthOne) {
  using Strides = std::array<std::size_t, kAxes>;
  EXPECT_EQ(broadcast_strides(shape(1, 1)), (Strides{0, 0, 0, 0}));
  EXPECT_EQ(broadcast_strides(shape(2, 3, 4, 5)), (Strides{60, 20, 5, 1}));
  EXPECT_EQ(broadcast_strides(shape(2, 1, 4, 1)), (Strides{4, 0, 1, 0}));
  EXPECT_EQ(broadcast_strides(shape(1, 7)), (Strides{0, 1, 0, 0}));
}

TEST(TensorShape, ExtentsRankAndSize) {
  EXPECT_TRUE(TensorShape{}.is_scalar());
  EXPECT_EQ(TensorShape{}.size(), 1u);
  const TensorShape shape{100, 2, 2};
  EXPECT_EQ(shape.rank, 3);
  EXPECT_EQ(shape.size(), 400u);
  EXPECT_EQ(to_string(shape), "[100,2,2]");
  EXPECT_EQ(to_string(TensorShape{}), "[]");
  EXPECT_EQ((TensorShape{0, 3}.size()), 0u);
  EXPECT_EQ((TensorShape{2, 3}), (TensorShape{2, 3}));
  EXPECT_FALSE((TensorShape{2, 3} == TensorShape{3, 2}));
  EXPECT_FALSE((TensorShape{2} == TensorShape{2, 2}));
  EXPECT_FALSE((TensorShape{} == TensorShape{0})) << "a scalar is not an empty list";
}

TEST(TensorShape, LimitsAreErrors) {
  EXPECT_THROW((TensorShape{1, 1, 1, 1, 1}), ShapeError);
  EXPECT_THROW(TensorShape{-1}, ShapeError);
  TensorShape shape{2};
  shape.append(2147483647);
  EXPECT_EQ(to_string(shape), "[2,2147483647]");
  EXPECT_THROW(shape.append(2147483648), ShapeError);
  EXPECT_THROW(shape.append(std::int64_t{1} << 32), ShapeError) << "lengths had been cut to 32 bits: this one was 0";
}

TEST(Vells, LayoutIsElementThenCell) {
  const auto pool = memory::Pool::create(memory::host());
  EXPECT_TRUE(Vells().empty());
  Vells real(*pool, NumberType::real, {2, 2}, shape(3, 5));
  EXPECT_FALSE(real.empty());
  EXPECT_EQ(real.size(), 60u);
  EXPECT_EQ(real.bytes(), 480u);
  EXPECT_EQ(real.cells_per_element(), 15u);
  for (std::size_t i = 0; i < real.size(); ++i) real.real()[i] = static_cast<double>(i);
  EXPECT_EQ(real.at(3, 14), Complex<double>(59)) << "real values are promoted";
  Vells complex(*pool, NumberType::complex, {}, shape(1, 1));
  EXPECT_EQ(complex.bytes(), 16u);
  complex.complex()[0] = {1, -2};
  EXPECT_EQ(complex.at(0), Complex<double>(1, -2));
}

TEST(Flags, StartUnflaggedAndShareOnePlane) {
  const auto pool = memory::Pool::create(memory::host());
  {  // leave something in the memory that is handed out next
    Flags dirty(*pool, 4, shape(3, 5));
    std::fill(dirty.data(), dirty.data() + dirty.size(), -1);
  }
  Flags flags(*pool, 4, shape(3, 5));
  for (std::size_t i = 0; i < flags.size(); ++i) EXPECT_EQ(flags.data()[i], 0);
  EXPECT_EQ(flags.plane(2), flags.data() + 30);
  Flags one(*pool, 1, shape(3, 5));
  EXPECT_EQ(one.plane(3), one.data());
  EXPECT_TRUE(Flags().empty());
}

TEST(Result, FindsDerivativesByParameter) {
  const auto pool = memory::Pool::create(memory::host());
  Result result;
  for (const ParameterId id : {ParameterId{1, 0}, ParameterId{1, 3}, ParameterId{4, 0}}) {
    Vells value(*pool, NumberType::real, {}, {});
    value.real()[0] = id.parm * 10 + id.coefficient;
    result.derivatives.push_back({id, value});
  }
  ASSERT_NE(result.derivative({1, 3}), nullptr);
  EXPECT_EQ(result.derivative({1, 3})->real()[0], 13);
  EXPECT_EQ(result.derivative({4, 0})->real()[0], 40);
  EXPECT_EQ(result.derivative({1, 2}), nullptr);
  EXPECT_EQ(result.derivative({9, 0}), nullptr);
  EXPECT_EQ(Result().status, Result::Status::missing);
}

}  // namespace
}  // namespace rimetree
