#include "nodes/psv/packed_skies.h"

#include <span>
#include <vector>

#include "runtime/core/fingerprint.h"

namespace rimetree::psv {

namespace {
template <class T>
void add(std::uint64_t& version, const std::vector<T>& values) {
  version = mix(version, fingerprint(std::as_bytes(std::span(values))));
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

std::shared_ptr<const PackedSky> PackedSkies::get(const SkyInput& input, const Children& children) {
  return skies_.get({children, input.n_channel, input.n_source, input.l.data, input.with_jones, input.n_minus},
                    [&input] {
                      auto packed = std::make_shared<PackedSky>();
                      packed->sky = pack_sky<double>(input);
                      packed->version = version_of(packed->sky);
                      return std::pair(std::shared_ptr<const PackedSky>(std::move(packed)), std::size_t{1});
                    });
}

}  // namespace rimetree::psv
