// The matrix instructions that the kernels use, by the names that transform.py gives them. All threads of a warp meet
// in each of them; where on a GPU threads that diverge give undefined results, the emulation stops.
#pragma once

#include <cstdint>

namespace rimetree::emulation {

/// m8n8k4 and m16n8k4 multiply doubles, m16n8k8 TF32 numbers, m8n8k16 and m16n8k32 bytes.
enum class MatrixUnit { kM8N8K4, kM16N8K4, kM16N8K8, kM8N8K16, kM16N8K32 };

/// One thread's fragments in a multiplication by a warp.
struct Fragments {
  MatrixUnit unit;
  void* sum[4];  ///< of doubles, floats or 32-bit integers
  double left[4], right[2];
  std::uint32_t left_bytes[4] = {}, right_bytes[2] = {};  ///< of units that multiply bytes, four to a word
};

/// Waits until the warp's 32 threads are here, which are then multiplied together.
void multiply_in_warp(const Fragments& fragments);

/// sums += left * right for the 32 threads of a warp, whose fragments stand one after the other. Integers wrap. Doubles
/// are accumulated by fused multiply-adds in order. Sums of TF32 products are exact to double precision and cut off to
/// floats, the worst that the hardware may do by what is documented.
void multiply(const Fragments* lanes);

/// mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.
inline void mma_m8n8k4(double& c0, double& c1, double a0, double b0) {
  multiply_in_warp({MatrixUnit::kM8N8K4, {&c0, &c1}, {a0}, {b0}});
}

/// mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64.
inline void mma_m16n8k4(double& c0, double& c1, double& c2, double& c3, double a0, double a1, double b0) {
  multiply_in_warp({MatrixUnit::kM16N8K4, {&c0, &c1, &c2, &c3}, {a0, a1}, {b0}});
}

/// A float of these bits without the 13 that TF32 does not have, and that matrix units do not look at.
double tf32_value(std::uint32_t bits);

/// mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32.
inline void mma_m16n8k8(float& c0, float& c1, float& c2, float& c3, std::uint32_t a0, std::uint32_t a1,
                        std::uint32_t a2, std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  multiply_in_warp({MatrixUnit::kM16N8K8,
                    {&c0, &c1, &c2, &c3},
                    {tf32_value(a0), tf32_value(a1), tf32_value(a2), tf32_value(a3)},
                    {tf32_value(b0), tf32_value(b1)}});
}

/// mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32.
inline void mma_m16n8k32(std::int32_t& c0, std::int32_t& c1, std::int32_t& c2, std::int32_t& c3, std::uint32_t a0,
                         std::uint32_t a1, std::uint32_t a2, std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  multiply_in_warp({MatrixUnit::kM16N8K32, {&c0, &c1, &c2, &c3}, {}, {}, {a0, a1, a2, a3}, {b0, b1}});
}

/// mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32.
inline void mma_m8n8k16(std::int32_t& c0, std::int32_t& c1, std::uint32_t a0, std::uint32_t b0) {
  multiply_in_warp({MatrixUnit::kM8N8K16, {&c0, &c1}, {}, {}, {a0}, {b0}});
}

/// cvt.rna.tf32.f32: to the nearest number of 11 bits, ties away from zero.
void cvt_rna_tf32(std::uint32_t& bits, float x);

}  // namespace rimetree::emulation
