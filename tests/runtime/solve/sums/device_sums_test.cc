// Sums over cells on the device that RIMETREE_DEVICE names, held to plain sums in extended precision.
#include "runtime/solve/sums/device_sums.h"

#include <gtest/gtest.h>

#include <random>

#include "memory/host_device.h"
#include "memory/simulated_device.h"
#include "tests/support/chosen_device.h"

namespace rimetree::solve {
namespace {

constexpr std::size_t kTimes = 7, kChannels = 150;  // blocks of less than four cells, and of more than two chunks

/// What sums are made of, for some equations, with what they should be.
class Case {
 public:
  Case(std::size_t n_equation, std::size_t n_vector, bool is_real) : n_vector_(n_vector) {
    blocks.time.begin = {0, 1, kTimes};
    blocks.frequency.begin = {0, 2, 3, kChannels};
    blocks.n_element = 4;
    blocks.is_real = is_real;
    for (std::size_t e = 0; e < n_equation; ++e) equation(static_cast<int>(e));
  }

  /// Coefficients of vectors that are not wanted are zero.
  std::vector<Complex<double>> coefficients() {
    std::vector<Complex<double>> all;
    for (std::size_t i = 0; i < inputs.size() * blocks.size() * 4 * n_vector_; ++i)
      all.push_back({uniform_(engine_), uniform_(engine_)});
    return all;
  }

  struct Numbers {
    std::vector<long double> value, magnitude;
    void add(std::size_t i, long double x) { add(i, x, std::abs(x)); }
    void add(std::size_t i, long double x, long double size) { value[i] += x, magnitude[i] += size; }
  };
  /// One equation, block and element; for real sums all elements.
  Numbers expected(std::size_t e, std::size_t block, std::size_t element, const SumsWanted& wanted) const {
    const std::size_t n_pair = n_vector_ * (n_vector_ + 3) / 2, n = 8 + n_pair * (blocks.is_real ? 1 : 2);
    Numbers sums{std::vector<long double>(n), std::vector<long double>(n)};
    const std::size_t t0 = blocks.time.begin[block / 3], t1 = blocks.time.begin[block / 3 + 1],
                      f0 = blocks.frequency.begin[block % 3], f1 = blocks.frequency.begin[block % 3 + 1];
    for (std::size_t one = blocks.is_real ? 0 : element; one < (blocks.is_real ? 4 : element + 1); ++one)
      for (std::size_t t = t0; t < t1; ++t)
        for (std::size_t f = f0; f < f1; ++f) cell(e, block, one, t, f, wanted, sums);
    return sums;
  }

  SumBlocks blocks;
  std::vector<SumInput> inputs;

 private:
  std::shared_ptr<memory::Pool> pool_ = memory::Pool::create(memory::host());
  std::deque<Result> results_;
  std::size_t n_vector_;
  std::mt19937_64 engine_{5};
  std::uniform_real_distribution<double> uniform_{-1, 1};

  const Result& make(NumberType type, const TensorShape& dims, std::size_t n_time, std::size_t n_channel) {
    CellShape cells;
    cells[Axis::time] = static_cast<std::int32_t>(n_time);
    cells[Axis::frequency] = static_cast<std::int32_t>(n_channel);
    Result& result = results_.emplace_back();
    result.value = Vells(*pool_, type, dims, cells);
    double* numbers = result.value.real();
    for (std::size_t i = 0; i < result.value.bytes() / sizeof(double); ++i) numbers[i] = uniform_(engine_);
    result.node = static_cast<int>(results_.size());
    result.stamp = 7;
    return result;
  }

  void equation(int e) {
    const TensorShape matrix{2, 2};
    SumInput& input = inputs.emplace_back();
    const Result& data = make(NumberType::complex, matrix, kTimes, kChannels);
    const_cast<Result&>(data).value.complex()[5 * kChannels + 6] = {std::nan(""), 0};
    input.data = SumOperand(data);
    input.residual = blocks.is_real ? SumOperand(make(NumberType::complex, matrix, kTimes, kChannels)) : input.data;
    if (e != 1) {
      const Result& weight = make(NumberType::real, {}, kTimes, kChannels);
      double* numbers = const_cast<Result&>(weight).value.real();
      for (std::size_t i = 0; i < weight.value.size(); ++i) numbers[i] += 1.5;
      numbers[3] = 0, numbers[4] = -1, numbers[5] = std::nan("");
      input.weight = SumOperand(weight);
    }
    if (!blocks.is_real) input.fixed.emplace_back(make(NumberType::complex, matrix, 1, kChannels));
    for (std::size_t k = 0; k < n_vector_; ++k) {
      const bool is_complex = k % 3 != 1;
      const std::size_t n_time = k % 2 == 0 ? kTimes : 1, n_channel = k % 4 == 3 ? 1 : kChannels;
      input.vectors.emplace_back(make(is_complex ? NumberType::complex : NumberType::real,
                                      k % 5 == 4 ? TensorShape{} : matrix, n_time, n_channel),
                                 k % 5 == 2 ? 3 : -1);
    }
    if (e == 2)
      input.flagged = [](std::size_t element, std::size_t t, std::size_t f) { return (element + t + f) % 7 == 0; };
    input.flags_key = {static_cast<std::uint64_t>(e + 1000), 3};
    input.weight_factor = 1 + e;
    input.dimensions = 2;
  }

  static Complex<double> number(const SumOperand& operand, std::size_t element, std::size_t t, std::size_t f) {
    const auto stride = broadcast_strides(operand.values->cells());
    const std::size_t e = operand.element >= 0 ? static_cast<std::size_t>(operand.element) : element;
    return operand.values->at(operand.values->dims().is_scalar() ? 0 : e, t * stride[0] + f * stride[1]);
  }

  void cell(std::size_t e, std::size_t block, std::size_t element, std::size_t t, std::size_t f,
            const SumsWanted& wanted, Numbers& sums) const {
    const SumInput& input = inputs[e];
    if (input.flagged && input.flagged(element, t, f)) return sums.add(5, 1);
    const double given = input.weight.values != nullptr ? number(input.weight, element, t, f).re : 1;
    if (!(given > 0)) return sums.add(6, 1);
    const Complex<double> datum = number(input.data, element, t, f);
    if (std::isnan(datum.re)) return sums.add(7, 1);
    std::vector<Complex<long double>> v{wide(number(input.residual, element, t, f))};
    for (const SumOperand& one : input.fixed) v[0] -= wide(number(one, element, t, f));
    for (const SumOperand& one : input.vectors) v.push_back(wide(number(one, element, t, f)));
    Complex<long double> misfit = v[0];
    for (std::size_t k = 0; k < n_vector_ && !wanted.coefficients.empty(); ++k)
      misfit -= wide(wanted.coefficients[((e * blocks.size() + block) * 4 + element) * n_vector_ + k]) * v[k + 1];
    long double w = static_cast<long double>(given) * input.weight_factor;
    if (!wanted.coefficients.empty() || blocks.is_real) {
      const long double nu = wanted.errors.degrees_of_freedom, square = w * squared_modulus(misfit);
      sums.add(2, nu == 0 ? square : (nu + 2) * std::log1p(square / nu));
      if (nu > 0) w *= (nu + 2) / (nu + square);
      sums.add(3, w * squared_modulus(misfit));
    }
    sums.add(0, w * squared_modulus(v[0]));
    sums.add(1, w * squared_modulus(wide(datum)));
    sums.add(4, 2);
    if (!wanted.products) return;
    std::size_t value = 0;
    const auto add = [&](Complex<long double> a, Complex<long double> b) {
      const Complex<long double> product = conj(a) * b;
      const std::size_t at = 8 + value++ * (blocks.is_real ? 1 : 2);
      const long double size = w * std::sqrt(squared_modulus(product));
      sums.add(at, w * product.re, size);
      if (!blocks.is_real) sums.add(at + 1, w * product.im, size);
    };
    for (std::size_t k = 1; k <= n_vector_; ++k) add(v[k], v[0]);
    for (std::size_t k = 1; k <= n_vector_; ++k)
      for (std::size_t l = 1; l <= k; ++l) add(v[k], v[l]);
  }
  static Complex<long double> wide(Complex<double> z) { return {z.re, z.im}; }
};

void expect_sums(Case& of, const SumsWanted& wanted, std::size_t n_vector) {
  DeviceContext device(memory::open_device(test::chosen_device()));
  DeviceSums sums(device, of.blocks, of.inputs);
  sums.start(wanted);
  const std::vector<double> got = sums.finish();
  const std::size_t n_number = sums.n_number(), n_own = of.blocks.is_real ? 1 : 4;
  const std::size_t n_pair = n_vector * (n_vector + 3) / 2;
  ASSERT_EQ(n_number, 8 + (wanted.products ? n_pair * (of.blocks.is_real ? 1 : 2) : 0));
  ASSERT_EQ(got.size(), of.inputs.size() * of.blocks.size() * n_own * n_number);
  const double* at = got.data();
  for (std::size_t e = 0; e < of.inputs.size(); ++e)
    for (std::size_t block = 0; block < of.blocks.size(); ++block)
      for (std::size_t element = 0; element < n_own; ++element, at += n_number) {
        const auto [value, magnitude] = of.expected(e, block, element, wanted);
        // Lanes have 128 terms at most, and blocks less than two dozen of these.
        for (std::size_t i = 0; i < n_number; ++i)
          EXPECT_LE(std::abs(at[i] - value[i]), 200 * 1.2e-16 * magnitude[i])
              << "equation " << e << " block " << block << " element " << element << " number " << i;
      }
}

TEST(DeviceSums, AreThoseOfPlainLoops) {
  for (const std::size_t n_vector : {1, 4, 9})
    for (const double dof : {0.0, 3.0}) {
      Case of(3, n_vector, false);
      const auto coefficients = of.coefficients();
      expect_sums(of, {{dof}, true, coefficients}, n_vector);
      expect_sums(of, {{dof}, false, coefficients}, n_vector);
      if (dof == 0) expect_sums(of, {{dof}, true, {}}, n_vector);
    }
}

TEST(DeviceSums, OfRealProductsTakeAllElementsTogether) {
  for (const std::size_t n_vector : {1, 3, 4, 11})
    for (const double dof : {0.0, 3.0}) {
      // The last ones have more arrays than go along with a launch.
      Case of(n_vector == 11 ? 9 : 3, n_vector, true);
      expect_sums(of, {{dof}, true, {}}, n_vector);
    }
}

TEST(DeviceSums, ListsAddUpSums) {
  Case of(3, 2, true);
  DeviceContext device(memory::open_device(test::chosen_device()));
  DeviceSums sums(device, of.blocks, of.inputs);
  sums.start({{}, true, {}});
  const std::vector<double> each = sums.finish();
  sums.start({{}, true, {}});
  SumLists lists;
  lists.source = {3, 40, 7, 7, 100};
  lists.first = {0, 2, 2, 5};
  sums.add_up(lists);
  const std::vector<double> totals = sums.finish();
  ASSERT_EQ(totals.size(), 3u);
  EXPECT_EQ(totals[0], each[3] + each[40]);
  EXPECT_EQ(totals[1], 0);
  EXPECT_EQ(totals[2], each[7] + each[7] + each[100]);
}

TEST(DeviceSums, SendWhatTheyNeedOnce) {
  Case of(3, 4, false);
  const auto device = std::make_shared<memory::SimulatedDevice>(64 << 20);
  DeviceContext context(device);
  const auto coefficients = of.coefficients();
  std::vector<double> first;
  std::uint64_t up = 0;
  for (int k = 0; k < 3; ++k) {
    DeviceSums sums(context, of.blocks, of.inputs);
    sums.start({{3}, true, coefficients});
    const std::vector<double> again = sums.finish();
    if (k == 0) first = again, up = device->statistics().bytes_to_device;
    EXPECT_EQ(again, first);
  }
  EXPECT_EQ(device->statistics().bytes_to_device, up);
}

}  // namespace
}  // namespace rimetree::solve
