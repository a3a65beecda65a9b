// Devices by name.
#include "memory/devices.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "memory/simulated_device.h"

namespace rimetree {
namespace {

using memory::open_device;

std::string message_for(const std::string& name) {
  try {
    open_device(name);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Devices, EmulatedOnesAreThereAlways) {
  EXPECT_EQ(open_device("host")->name(), "host");
  EXPECT_EQ(open_device("simulated:1000")->free_bytes(), 1000u);
  EXPECT_GT(open_device("simulated")->free_bytes(), 1000u);
  EXPECT_NE(open_device("simulated"), open_device("simulated"));
}

TEST(Devices, UnknownOnesSayWhichThereAre) {
  for (const char* name : {"", "warp", "simulated:", "simulated:many", "simulated:-1", "host:1", "kind-of-a-test:2"})
    EXPECT_NE(message_for(name).find("simulated:BYTES"), std::string::npos) << name;
}

TEST(Devices, ALibraryBringsItsKind) {
  memory::add_device_kind({"test-kind", [] { return 2; },
                           [](int i) { return std::make_shared<memory::SimulatedDevice>(100 + std::size_t(i)); }});
  EXPECT_EQ(open_device("test-kind")->free_bytes(), 100u);
  EXPECT_EQ(open_device("test-kind:1")->free_bytes(), 101u);
  EXPECT_NE(message_for("test-kind:2").find("test-kind:1"), std::string::npos);
  const auto names = memory::device_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "test-kind:1"), names.end());
  memory::add_device_kind({"test-kind", [] { return 0; }, nullptr, [] { return "there is no driver"; }});
  EXPECT_NE(message_for("test-kind:0").find(" (test-kind: there is no driver)"), std::string::npos);
}

}  // namespace
}  // namespace rimetree
