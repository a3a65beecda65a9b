// The same products by every strategy and every kernel of this machine.
#pragma once

#include <gtest/gtest.h>

#include <cctype>

#include "nodes/correlator/byte_products.h"
#include "nodes/correlator/cross_products.h"
#include "tests/support/sample_scene.h"

namespace rimetree::correlator {

inline void expect_equal(const ProductSums& got, const ProductSums& want, const std::string& what) {
  EXPECT_EQ(got.re, want.re) << what;
  EXPECT_EQ(got.im, want.im) << what;
  EXPECT_EQ(got.count, want.count) << what;
}

/// The products by every strategy that takes the format, and by every kernel that this machine has.
inline void expect_all_equal(const SampleScene& scene, const ProductSums& want, const SampleMask* mask = nullptr) {
  ThreadPool threads(2);
  for (const std::string& name : strategy_names()) {
    if (name == "packed" && scene.format.bits > 4) continue;
    if (const char size = name.back(); std::isdigit(size) != 0 && scene.n_input % (size - '0') != 0) continue;
    CrossProducts products(scene.n_channel, scene.n_input, strategy(name), threads);
    products.add(scene.voltages(), mask);
    expect_equal(products.sums(), want, name);
  }
  if (scene.n_time > kMaxBlockTime) return;
  for (const ByteProducts* kernel : {&wide_products(), vnni_products()}) {
    if (kernel == nullptr) continue;
    const auto block = kernel->make(scene.n_input, std::max<std::size_t>(1, scene.n_time));
    ProductSums sums(scene.n_channel, scene.n_input);
    sums.count = want.count;
    for (std::size_t c = 0; c < scene.n_channel; ++c) {
      block->fill(scene.voltages(), c, 0, scene.n_time, mask);
      const std::size_t at = c * n_products(scene.n_input);
      for (std::size_t part = 0; part < block->n_part(); ++part)
        block->add_part(part, sums.re.data() + at, sums.im.data() + at);
    }
    expect_equal(sums, want, kernel->name);
  }
}

}  // namespace rimetree::correlator
