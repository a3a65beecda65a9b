// Buffer: typed, move-only ownership of device memory.
#include "memory/buffer.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <numeric>

#include "memory/host_device.h"
#include "memory/simulated_device.h"

namespace rimetree {
namespace {

using memory::Buffer;
using memory::SimulatedDevice;

static_assert(!std::is_copy_constructible_v<Buffer<double>> && !std::is_copy_assignable_v<Buffer<double>>);
static_assert(std::is_nothrow_move_constructible_v<Buffer<double>> &&
              std::is_nothrow_move_assignable_v<Buffer<double>>);

TEST(Buffer, DefaultOwnsNothing) {
  Buffer<double> buffer;
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.bytes(), 0u);
  EXPECT_EQ(buffer.device(), nullptr);
  EXPECT_TRUE(buffer.to_host().empty());
}

TEST(Buffer, RoundTripCountsEveryByteOnce) {
  SimulatedDevice device(1 << 20);
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 0.5);
  Buffer<double> buffer(device, std::span<const double>(values));
  EXPECT_EQ(buffer.size(), 1000u);
  EXPECT_EQ(buffer.bytes(), 8000u);
  EXPECT_EQ(buffer.device(), &device);
  EXPECT_EQ(device.statistics().bytes_to_device, 8000u);
  EXPECT_EQ(device.statistics().bytes_to_host, 0u);
  EXPECT_EQ(buffer.to_host(), values);
  EXPECT_EQ(device.statistics().bytes_to_host, 8000u);
  EXPECT_EQ(device.statistics().allocations, 1u);
  EXPECT_EQ(device.statistics().bytes_in_use, 8000u);
}

TEST(Buffer, FreesOnceWhenItGoes) {
  SimulatedDevice device(1 << 20);
  { Buffer<float> buffer(device, 100); }
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
  EXPECT_EQ(device.statistics().peak_bytes, 400u);
}

TEST(Buffer, MovingHandsOverTheMemory) {
  SimulatedDevice device(1 << 20);
  const std::vector<std::int32_t> values{3, 1, 4, 1, 5};
  Buffer<std::int32_t> first(device, std::span<const std::int32_t>(values));
  const void* const where = first.data();
  Buffer<std::int32_t> second(std::move(first));
  EXPECT_EQ(second.data(), where);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT: a moved-from buffer is empty
  EXPECT_EQ(first.size(), 0u);
  EXPECT_EQ(second.to_host(), values);
  EXPECT_EQ(device.statistics().allocations, 1u);
}

TEST(Buffer, MoveAssignmentFreesWhatWasThere) {
  SimulatedDevice device(1 << 20), other(1 << 20);
  Buffer<double> target(device, 100);
  Buffer<double> source(other, 10);
  target = std::move(source);
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
  EXPECT_EQ(other.statistics().bytes_in_use, 80u);
  EXPECT_EQ(target.device(), &other);
  EXPECT_EQ(target.size(), 10u);
}

TEST(Buffer, SelfMoveKeepsTheContents) {
  SimulatedDevice device(1 << 20);
  const std::vector<double> values{1, 2, 3};
  Buffer<double> buffer(device, std::span<const double>(values));
  Buffer<double>& same = buffer;
  buffer = std::move(same);
  EXPECT_EQ(buffer.to_host(), values);
}

TEST(Buffer, WrongSizesAreRefusedBeforeAnythingIsCopied) {
  SimulatedDevice device(1 << 20);
  Buffer<double> buffer(device, 4);
  const std::vector<double> three(3);
  std::vector<double> five(5);
  EXPECT_THROW(buffer.copy_from(three), std::invalid_argument);
  EXPECT_THROW(buffer.copy_to(five), std::invalid_argument);
  EXPECT_THROW((buffer.view<2>({2, 3})), std::invalid_argument);
  EXPECT_EQ(device.statistics().bytes_to_device, 0u);
  EXPECT_EQ(device.statistics().bytes_to_host, 0u);
}

TEST(Buffer, SizeInBytesCannotOverflow) {
  SimulatedDevice device(1 << 20);
  const std::size_t count = std::numeric_limits<std::size_t>::max() / sizeof(double) + 2;  // 8 bytes after wrapping
  EXPECT_THROW(Buffer<double>(device, count), memory::OutOfMemory);
  EXPECT_EQ(device.statistics().allocations, 0u);
}

TEST(Buffer, NothingLeaksWhenTheCopyIntoItFails) {
  // A device whose copies fail: the buffer under construction must give its memory back.
  class BrokenLink final : public memory::Device {
   public:
    std::string name() const override { return "broken link"; }
    bool host_accessible() const override { return false; }
    void* allocate(std::size_t bytes) override { return inner.allocate(bytes); }
    void deallocate(void* data, std::size_t bytes) noexcept override { inner.deallocate(data, bytes); }
    void copy_to_device(void*, const void*, std::size_t) override { throw std::runtime_error("link is down"); }
    void copy_to_host(void*, const void*, std::size_t) override {}
    void copy_within(void*, const void*, std::size_t) override {}
    std::unique_ptr<memory::Queue> make_queue() override { return inner.make_queue(); }
    void* allocate_staging(std::size_t bytes) override { return inner.allocate_staging(bytes); }
    void deallocate_staging(void* data, std::size_t bytes) noexcept override { inner.deallocate_staging(data, bytes); }
    void* resolve(const void* data, std::size_t bytes) const override { return inner.resolve(data, bytes); }
    std::size_t free_bytes() const override { return inner.free_bytes(); }
    memory::DeviceStatistics statistics() const override { return inner.statistics(); }
    SimulatedDevice inner{1 << 20};
  } device;
  const std::vector<double> values(8);
  EXPECT_THROW(Buffer<double>(device, std::span<const double>(values)), std::runtime_error);
  EXPECT_EQ(device.statistics().allocations, 1u);
  EXPECT_EQ(device.statistics().bytes_in_use, 0u);
}

TEST(Buffer, OfNoElementsIsUsable) {
  SimulatedDevice device(1 << 20);
  Buffer<double> buffer(device, std::span<const double>());
  EXPECT_TRUE(buffer.to_host().empty());
  EXPECT_EQ(device.statistics().bytes_to_device, 0u);
}

TEST(Buffer, ViewSeesTheSameElements) {
  Buffer<std::complex<double>> buffer(memory::host(), 6);
  const auto view = buffer.view<2>({2, 3});
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) view(i, j) = {1.0 * i, 1.0 * j};
  const auto values = buffer.to_host();
  EXPECT_EQ(values[4], std::complex<double>(1, 1));
  EXPECT_EQ(values[2], std::complex<double>(0, 2));
}

}  // namespace
}  // namespace rimetree
