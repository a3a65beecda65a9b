#include "tests/gpu/emulation/settings.h"

#include <cstdio>
#include <cstdlib>

namespace rimetree::emulation {

namespace {

/// A whole number from the environment.
std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*end != '\0') stop(std::string(name) + " is not a whole number: " + text);
  return value;
}

bool has_random_progress() {
  const char* const text = std::getenv("RIMETREE_EMULATION_STREAMS");
  const std::string mode = text == nullptr ? "late" : text;
  if (mode != "late" && mode != "random") stop("RIMETREE_EMULATION_STREAMS is neither late nor random: " + mode);
  return mode == "random";
}

}  // namespace

const Settings& settings() {
  // A block of sm_75 can have 64 kB, of sm_80 163 kB, of sm_90 227 kB (CUDA C++ programming guide, technical
  // specifications per compute capability).
  constexpr int kArchitecture = RIMETREE_EMULATED_ARCHITECTURE;
  constexpr std::uint64_t kShared = (kArchitecture >= 90 ? 227 : kArchitecture >= 80 ? 163 : 64) * 1024;
  static const Settings read{number("RIMETREE_EMULATION_SEED", 1), has_random_progress(),
                             static_cast<int>(number("RIMETREE_EMULATION_DEVICES", 1)),
                             number("RIMETREE_EMULATION_MEMORY", std::uint64_t{2} << 30),
                             number("RIMETREE_EMULATION_SHARED", kShared)};
  return read;
}

std::mt19937_64& generator() {
  static std::mt19937_64 random(settings().seed);
  return random;
}

std::recursive_mutex& device_mutex() {
  static auto* const mutex = new std::recursive_mutex;  // outlives what static destructors do with devices
  return *mutex;
}

void stop(const std::string& why) {
  std::fprintf(stderr, "emulated device: %s\n", why.c_str());
  std::abort();
}

}  // namespace rimetree::emulation
