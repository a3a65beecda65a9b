// What the matrix instructions compute. Fragments are laid out as the PTX ISA describes them ("Warp-level matrix
// instructions"): with group = lane / 4 and member = lane % 4, a thread has rows `group` and columns `member` of the
// left matrix, the other way round of the right one, and columns 2 member and the next of the sums; eights follow each
// other.
#include "tests/gpu/emulation/matrix_units.h"

#include <cmath>
#include <cstring>

namespace rimetree::emulation {

namespace {

constexpr int kLanes = 32, kMostRows = 16, kColumns = 8, kMostDepth = 8, kMostBytes = 32;

/// Both matrices of a warp, put together from its fragments.
struct Matrices {
  double left[kMostRows][kMostDepth] = {}, right[kMostDepth][kColumns] = {};
  int rows, depth;
};

Matrices gather(const Fragments* lanes) {
  Matrices all;
  all.rows = lanes[0].unit == MatrixUnit::kM8N8K4 ? 8 : 16;
  all.depth = lanes[0].unit == MatrixUnit::kM16N8K8 ? 8 : 4;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / 4, member = lane % 4;
    int i = 0;
    for (int k = member; k < all.depth; k += 4) {
      for (int row = group; row < all.rows; row += 8) all.left[row][k] = lanes[lane].left[i++];
      all.right[k][group] = lanes[lane].right[k / 4];
    }
  }
  return all;
}

/// The same of bytes: a word has four of a row (or column), those of threads `member` follow each other, and then come
/// sixteen more.
void multiply_bytes(const Fragments* lanes) {
  const bool small = lanes[0].unit == MatrixUnit::kM8N8K16;
  const int rows = small ? 8 : 16, depth = small ? 16 : 32;
  std::int8_t left[kMostRows][kMostBytes] = {}, right[kColumns][kMostBytes] = {};
  for (int lane = 0; lane < kLanes; ++lane)
    for (int k = 0; k < depth; ++k) {
      if (k % 16 / 4 != lane % 4) continue;
      const auto byte = [k](std::uint32_t word) { return static_cast<std::int8_t>(word >> 8 * (k % 4) & 255); };
      const int group = lane / 4;
      for (int row = group; row < rows; row += 8) left[row][k] = byte(lanes[lane].left_bytes[row / 8 + k / 16 * 2]);
      right[group][k] = byte(lanes[lane].right_bytes[k / 16]);
    }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < rows / 4; ++i) {
      auto& to = *static_cast<std::int32_t*>(lanes[lane].sum[i]);
      auto sum = static_cast<std::uint32_t>(to);
      for (int k = 0; k < depth; ++k)
        sum += static_cast<std::uint32_t>(left[lane / 4 + i / 2 * 8][k] * right[lane % 4 * 2 + i % 2][k]);
      to = static_cast<std::int32_t>(sum);
    }
}

/// Towards zero.
float cut_off(double x) {
  const float nearest = static_cast<float>(x);
  return std::abs(static_cast<double>(nearest)) > std::abs(x) ? std::nextafter(nearest, 0.0F) : nearest;
}

}  // namespace

void multiply(const Fragments* lanes) {
  if (lanes[0].unit == MatrixUnit::kM8N8K16 || lanes[0].unit == MatrixUnit::kM16N8K32) return multiply_bytes(lanes);
  const Matrices all = gather(lanes);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < all.rows / 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      if (lanes[0].unit == MatrixUnit::kM16N8K8) {
        float& to = *static_cast<float*>(lanes[lane].sum[i]);
        double sum = static_cast<double>(to);
        for (int k = 0; k < all.depth; ++k) sum += all.left[row][k] * all.right[k][column];
        to = cut_off(sum);
      } else {
        double& to = *static_cast<double*>(lanes[lane].sum[i]);
        for (int k = 0; k < all.depth; ++k) to = std::fma(all.left[row][k], all.right[k][column], to);
      }
    }
}

double tf32_value(std::uint32_t bits) {
  constexpr std::uint32_t kUnused = 0x1fff;
  bits &= ~kUnused;
  float number;
  std::memcpy(&number, &bits, sizeof(number));
  return static_cast<double>(number);
}

void cvt_rna_tf32(std::uint32_t& bits, float x) {
  constexpr std::uint32_t kExponent = 0x7f800000, kHalf = 0x1000, kUnused = 0x1fff;
  std::memcpy(&bits, &x, sizeof(bits));
  if ((bits & kExponent) != kExponent) bits = (bits + kHalf) & ~kUnused;  // neither infinite nor NaN
}

}  // namespace rimetree::emulation
