#include "nodes/psv/packed_skies.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/fingerprint.h"

namespace rimetree::psv {

namespace {
template <class T>
void add(std::uint64_t& version, const std::vector<T>& values) {
  version = mix(version, fingerprint(std::as_bytes(std::span(values))));
}

/// What weights take for all Stokes parameters.
std::size_t expected_bytes(const SkyInput& input) {
  const std::ptrdiff_t n_channel = input.brightness_varies ? input.n_channel : 1;
  return static_cast<std::size_t>(input.n_source * n_channel) * (input.with_jones ? 8 : 4) * sizeof(double);
}
std::size_t bytes_of(const Sky<double>& sky) {
  return (sky.weights.size() + sky.brightness.size() + sky.tangent_weights.size() + 4 * sky.l.size()) * sizeof(double);
}

}  // namespace

SkyVersion version_of(const Sky<double>& sky) {
  SkyVersion version{mix(sky.n_source, std::uint64_t{sky.n_point}),
                     mix(sky.n_source, std::uint64_t{sky.n_weight_channel})};
  for (const auto* values : {&sky.l, &sky.m, &sky.n_high, &sky.n_low}) add(version.places, *values);
  add(version.places, sky.axes);
  for (const SourceBlock& block : sky.blocks)
    version.places = mix(mix(version.places, std::uint64_t{block.end}), static_cast<std::uint64_t>(block.profile));
  add(version.fluxes, sky.planes);
  add(version.fluxes, sky.weights);
  add(version.fluxes, sky.brightness);
  return version;
}

PackedSkies::Entry::Entry(const SkyInput& input, const Children& of)
    : n_channel(input.n_channel),
      n_source(input.n_source),
      first_l(input.l.data),
      with_jones(input.with_jones),
      only_with_flux(input.only_with_flux),
      n_minus(input.n_minus) {
  for (std::size_t i = 0; i < of.size(); ++i) children[i] = of[i], memory[i] = of[i].get();
}

bool PackedSkies::Entry::is_of(const Entry& other) const {
  // Memory may come back as somebody else's: owners tell.
  for (std::size_t i = 0; i < children.size(); ++i)
    if (children[i].owner_before(other.children[i]) || other.children[i].owner_before(children[i])) return false;
  return memory == other.memory && n_channel == other.n_channel && n_source == other.n_source &&
         first_l == other.first_l && with_jones == other.with_jones && only_with_flux == other.only_with_flux &&
         n_minus == other.n_minus;
}

bool PackedSkies::Entry::is_gone() const {
  for (std::size_t i = 0; i < children.size(); ++i)
    if (memory[i] != nullptr && children[i].expired()) return true;
  return false;
}

void PackedSkies::make_room(std::size_t bytes) {
  for (const Entry& entry : entries_) bytes += entry.bytes;
  while (!entries_.empty() && (entries_.size() >= kMost || bytes > kMostBytes)) {
    bytes -= entries_.back().bytes;
    entries_.pop_back();
  }
}

std::shared_ptr<const PackedSky> PackedSkies::get(const SkyInput& input, const Children& children) {
  const std::lock_guard lock(mutex_);
  entries_.remove_if([](const Entry& entry) { return entry.is_gone(); });
  Entry wanted(input, children);
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.is_of(wanted); });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->sky;
  }
  make_room(expected_bytes(input));
  auto packed = std::make_shared<PackedSky>();
  packed->sky = pack_sky<double>(input);
  packed->version = version_of(packed->sky);
  wanted.bytes = bytes_of(packed->sky);
  wanted.sky = std::move(packed);
  entries_.push_front(std::move(wanted));
  return entries_.front().sky;
}

}  // namespace rimetree::psv
