// The text includes nothing: compilers at run time have no headers. Structures are read by the offsets of their
// members.
#include "runtime/device/recorded_source.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <limits>

#include "runtime/core/error.h"
#include "runtime/device/cell_job.h"

namespace rimetree {

namespace {

using program::Op;
using program::ThreadOperation;

/// What an operation does with its operands $0 to $4.
struct Meaning {
  Op op;
  const char* text;
};
constexpr Meaning kMeanings[] = {
    {Op::negate, "-$0"},
    {Op::absolute, "fabs($0)"},
    {Op::sqrt, "sqrt($0)"},
    {Op::sin, "sin($0)"},
    {Op::cos, "cos($0)"},
    {Op::exp, "exp($0)"},
    {Op::log, "log($0)"},
    {Op::round, "rint($0)"},
    {Op::tan, "tan($0)"},
    {Op::asin, "asin($0)"},
    {Op::acos, "acos($0)"},
    {Op::atan, "atan($0)"},
    {Op::sinh, "sinh($0)"},
    {Op::cosh, "cosh($0)"},
    {Op::tanh, "tanh($0)"},
    {Op::log1p, "log1p($0)"},
    {Op::sinc, "sinc($0)"},
    {Op::detach, "$0"},
    {Op::add, "$0 + $1"},
    {Op::subtract, "$0 - $1"},
    {Op::multiply, "__dmul_rn($0, $1)"},
    {Op::divide, "$0 / $1"},
    {Op::product_error, "fma($0, $1, -__dmul_rn($0, $1))"},
    {Op::hypot, "hypot($0, $1)"},
    {Op::atan2, "atan2($0, $1)"},
    {Op::pow, "pow($0, $1)"},
    {Op::less, "$0 < $1 ? 1.0 : 0.0"},
    {Op::less_equal, "$0 <= $1 ? 1.0 : 0.0"},
    {Op::equal, "$0 == $1 ? 1.0 : 0.0"},
    {Op::weigh, "weighed($0, $1)"},
    {Op::with_value, "$1"},
    {Op::select, "$0 == 0 ? $2 : $1"},
    {Op::multiply_add, "__dmul_rn($0, $1) + $2"},
    {Op::multiply_sub, "__dmul_rn($0, $1) - $2"},
    {Op::negate_add, "$2 - __dmul_rn($0, $1)"},
    {Op::weigh_add, "weighed($0, $1) + $2"},
    {Op::weigh_sub, "weighed($0, $1) - $2"},
    {Op::negate_weigh_add, "$2 - weighed($0, $1)"},
    {Op::add_three, "($0 + $1) + $2"},
    {Op::products_sum, "__dmul_rn($0, $1) + __dmul_rn($2, $3)"},
    {Op::products_difference, "__dmul_rn($0, $1) - __dmul_rn($2, $3)"},
    {Op::weighed_sum, "weighed($0, $1) + weighed($2, $3)"},
    {Op::weighed_difference, "weighed($0, $1) - weighed($2, $3)"},
    {Op::add_four, "(($0 + $1) + $2) + $3"},
    {Op::add_products_sum, "$4 + (__dmul_rn($0, $1) + __dmul_rn($2, $3))"},
    {Op::add_products_difference, "$4 + (__dmul_rn($0, $1) - __dmul_rn($2, $3))"},
    {Op::add_weighed_sum, "$4 + (weighed($0, $1) + weighed($2, $3))"},
    {Op::add_weighed_difference, "$4 + (weighed($0, $1) - weighed($2, $3))"},
    {Op::add_five, "((($0 + $1) + $2) + $3) + $4"},
};

/// Replaces every `name` of a text.
void replace(std::string& text, const std::string& name, const std::string& by) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + by.size()))
    text.replace(at, name.size(), by);
}

std::string number(double x) {
  // By its bits: not every number has a decimal form.
  char text[64];
  std::snprintf(text, sizeof text, "__longlong_as_double(0x%llxLL)",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(x)));
  return text;
}

constexpr const char* kHead = R"(
typedef unsigned long long u64;
typedef const char* Place;
struct Job { u64 words[@job@]; };
__device__ static inline double weighed(double a, double b) { return a == 0 ? 0.0 : __dmul_rn(a, b); }
__device__ static inline double sinc(double x) {
  if (fabs(x) >= 0.3) return sin(x) / x;
  const double y = __dmul_rn(x, x), terms[] = {-1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0};
  double sum = 1.0 / 6227020800.0;
  for (int k = 0; k < 6; ++k) sum = __dmul_rn(sum, y) + terms[k];
  return sum;
}
__device__ static inline u64 wide(Place at) { return *(const u64*)at; }
__device__ static inline int narrow(Place at) { return *(const int*)at; }
__device__ static inline Place array_at(Place job, Place described, int base, int offset) {
  const u64 many = wide(job + @many@);
  const u64 first = many != 0 ? ((const u64*)many)[narrow(described + base)]
                              : wide(job + @few@ + 8 * narrow(described + base));
  return (Place)first + wide(described + offset);
}
extern "C" __global__ void @name@(const __grid_constant__ Job all) {
  const Place job = (Place)&all;
  const int n_item = narrow(job + @n_item@);
  for (int k = blockIdx.y; k < n_item; k += gridDim.y) {
    const Place item = (Place)wide(job + @d_item@) + (u64)k * @item@;
    const u64 n_thread = wide(item + @n_thread@);
    const u64 e0 = narrow(item + @cells@), e1 = narrow(item + @cells@ + 4), e2 = narrow(item + @cells@ + 8),
              e3 = narrow(item + @cells@ + 12), plane = e0 * e1 * e2 * e3;
    const int n_child = narrow(item + @n_child@);
    double* const result = (double*)array_at(job, item, @item_base@, @item_offset@);
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n_thread; i += (u64)gridDim.x * blockDim.x) {
      const u64 entry = i / plane, cell = i % plane;
      const u64 c3 = cell % e3, c2 = cell / e3 % e2, c1 = cell / (e3 * e2) % e1, c0 = cell / (e3 * e2 * e1);
)";
constexpr const char* kInput = R"(
      const Place d@ = (Place)wide(job + @d_child@) +
          (u64)(@ < n_child ? narrow(item + @first_child@) + @ : narrow(item + @first_derivative@) + @ - n_child) *
          @array@;
      const double* const p@ = (const double*)array_at(job, d@, @array_base@, @array_offset@);
      const u64 s@ = narrow(d@ + @is_complex@) != 0 ? 2 : 1, q@ = wide(d@ + @plane@),
                o@ = c0 * wide(d@ + @stride@) + c1 * wide(d@ + @stride@ + 8) + c2 * wide(d@ + @stride@ + 16) +
                     c3 * wide(d@ + @stride@ + 24);
)";

void fill_in(std::string& text) {
  const std::pair<const char*, std::size_t> offsets[] = {
      {"@job@", (sizeof(CellJob) + 7) / 8},
      {"@many@", offsetof(CellJob, d_many)},
      {"@few@", offsetof(CellJob, few)},
      {"@n_item@", offsetof(CellJob, n_item)},
      {"@d_item@", offsetof(CellJob, d_item)},
      {"@d_child@", offsetof(CellJob, d_child)},
      {"@item@", sizeof(CellItem)},
      {"@n_thread@", offsetof(CellItem, n_thread)},
      {"@cells@", offsetof(CellItem, cells)},
      {"@n_child@", offsetof(CellItem, n_child)},
      {"@item_base@", offsetof(CellItem, base)},
      {"@item_offset@", offsetof(CellItem, offset)},
      {"@first_child@", offsetof(CellItem, first_child)},
      {"@first_derivative@", offsetof(CellItem, first_derivative)},
      {"@array@", sizeof(CellArray)},
      {"@array_base@", offsetof(CellArray, base)},
      {"@array_offset@", offsetof(CellArray, offset)},
      {"@is_complex@", offsetof(CellArray, is_complex)},
      {"@plane@", offsetof(CellArray, plane)},
      {"@stride@", offsetof(CellArray, stride)},
  };
  for (const auto& [name, value] : offsets) replace(text, name, std::to_string(value));
  replace(text, "@name@", kRecordedKernel);
}

/// The statements of one operation after the other.
class Writer {
 public:
  Writer(const program::ThreadProgram& program, bool is_complex) : program_(program), is_complex_(is_complex) {}

  std::string statement(const ThreadOperation& operation) const {
    if (operation.op == ThreadOperation::kStore) return store(operation);
    const auto op = static_cast<Op>(operation.op);
    if (op == Op::load) return load(operation, "entry");
    if (op == Op::look_up) return load(operation, "(u64)" + in(operation, 2));
    if (op == Op::coordinate) return to(operation, 0) + coordinate(operation.in[0]);
    if (op == Op::sin_cos)
      return "sincos(" + in(operation, 0) + ", &" + name(operation.out[0]) + ", &" + name(operation.out[1]) + ");";
    for (const Meaning& meaning : kMeanings) {
      if (meaning.op != op) continue;
      std::string text = meaning.text;
      for (int k = 0; k < program::operands_of(op); ++k) replace(text, "$" + std::to_string(k), in(operation, k));
      return to(operation, 0) + text + ";";
    }
    throw Error("an operation has no text for compilers");
  }

 private:
  static std::string name(std::uint16_t at) { return "r" + std::to_string(at); }
  static std::string to(const ThreadOperation& operation, int k) { return name(operation.out[k]) + " = "; }
  std::string in(const ThreadOperation& operation, int k) const {
    const std::uint16_t at = operation.in[k];
    return at < ThreadOperation::kNumber ? name(at) : number(program_.numbers[at - ThreadOperation::kNumber]);
  }
  static std::string element(const ThreadOperation& operation, const std::string& entry = "entry") {
    return "(" + std::to_string(operation.element()) + "ULL + " + entry + " * " + std::to_string(operation.stride()) +
           "ULL)";
  }
  /// Of an entry of a stack or a table.
  static std::string load(const ThreadOperation& operation, const std::string& entry) {
    std::string text;
    for (int k = 0; k < 2; ++k) {
      if (operation.out[k] == ThreadOperation::kNone) continue;
      const int part = k == 1 || operation.part == ThreadOperation::imaginary ? 1 : 0;
      std::string one =
          to(operation, k) + "p@[(o@ + " + element(operation, entry) + " * q@) * s@ + " + std::to_string(part) + "];";
      replace(one, "@", std::to_string(operation.in[0]));
      text += (text.empty() ? "" : " ") + one;
    }
    return text;
  }
  std::string store(const ThreadOperation& operation) const {
    const std::string at = element(operation) + " * plane + cell";
    if (!is_complex_) return "result[" + at + "] = " + in(operation, 0) + ";";
    const std::string im = operation.in[1] == ThreadOperation::kNone ? "0.0" : in(operation, 1);
    return "result[2 * (" + at + ")] = " + in(operation, 0) + "; result[2 * (" + at + ") + 1] = " + im + ";";
  }
  static std::string coordinate(int which) {
    const bool is_time = which <= static_cast<int>(program::Coordinate::time_width_s);
    const bool is_width = which % 2 == 1;
    const std::size_t array = is_time ? offsetof(CellJob, d_time_s) : offsetof(CellJob, d_frequency_hz),
                      length = is_time ? offsetof(CellJob, n_time) : offsetof(CellJob, n_frequency);
    return "((const double*)wide(job + " + std::to_string(array) + "))[" + (is_time ? "c0" : "c1") +
           (is_width ? " + narrow(job + " + std::to_string(length) + ")" : "") + "];";
  }

  const program::ThreadProgram& program_;
  bool is_complex_;
};

}  // namespace

std::string recorded_source(const program::ThreadProgram& program, bool is_complex) {
  std::string text = kHead;
  for (std::size_t input = 0; input < program.reads.size(); ++input) {
    if (!program.reads[input]) continue;
    std::string described = kInput;
    fill_in(described);
    replace(described, "@", std::to_string(input));
    text += described;
  }
  fill_in(text);
  if (program.n_register > 0) {
    text += "      double r0";
    for (int i = 1; i < program.n_register; ++i) text += ", r" + std::to_string(i);
    text += ";\n";
  }
  const Writer writer(program, is_complex);
  for (const ThreadOperation& operation : program.operations) text += "      " + writer.statement(operation) + "\n";
  return text + "    }\n  }\n}\n";
}

}  // namespace rimetree
