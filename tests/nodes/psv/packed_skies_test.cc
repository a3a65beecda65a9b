// Skies are packed anew when their children are others, and have a version for what they contain.
#include "nodes/psv/packed_skies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

psv::PackedSkies::Children children(const std::shared_ptr<void>& brightness) {
  static const auto lmn = std::make_shared<int>();
  return {lmn, brightness, nullptr};
}

TEST(PackedSkies, AreFoundAgainByTheirChildren) {
  Case c(CaseOptions{});
  psv::PackedSkies skies;
  const auto a = std::make_shared<int>(), b = std::make_shared<int>();
  const auto first = skies.get(c.sky_input(), children(a));
  EXPECT_EQ(skies.get(c.sky_input(), children(a)), first);
  // The same contents from other children are packed anew, and have the same version.
  const auto again = skies.get(c.sky_input(), children(b));
  EXPECT_NE(again, first);
  EXPECT_EQ(again->version.places, first->version.places);
  EXPECT_EQ(again->version.fluxes, first->version.fluxes);
  auto input = c.sky_input();
  input.n_channel += 1;
  EXPECT_NE(skies.get(input, children(a)), first);
}

// Terms of a model that is compared with data have their skies packed in one place.
TEST(PackedSkies, OfOtherSettingsAreOthers) {
  Case c(CaseOptions{});
  psv::PackedSkies skies;
  const auto a = std::make_shared<int>();
  const auto first = skies.get(c.sky_input(), children(a));
  auto behind_terms = c.sky_input();
  behind_terms.with_jones = !behind_terms.with_jones;
  EXPECT_NE(skies.get(behind_terms, children(a)), first);
  auto not_stopped = c.sky_input();
  not_stopped.n_minus = 1 - not_stopped.n_minus;
  EXPECT_NE(skies.get(not_stopped, children(a)), first);
  auto moving = children(a);
  moving[3] = std::make_shared<int>();
  auto shining = c.sky_input();
  shining.only_with_flux = true;
  EXPECT_NE(skies.get(shining, children(a)), first);
  EXPECT_NE(skies.get(c.sky_input(), moving), first) << "brightness that moves keeps more planes";
}

TEST(PackedSkies, KeepNoMemoryOfTheirChildren) {
  Case c(CaseOptions{});
  psv::PackedSkies skies;
  int memory = 0;  // the same for one child after the other
  const auto child = [&] { return std::shared_ptr<void>(&memory, [](void*) {}); };
  auto a = child();
  const std::weak_ptr<void> kept = a;
  const std::weak_ptr<const psv::PackedSky> first = skies.get(c.sky_input(), children(a));
  EXPECT_FALSE(first.expired());
  a.reset();
  EXPECT_TRUE(kept.expired());
  c.brightness[0].re += 1;
  const auto b = child();
  const auto second = skies.get(c.sky_input(), children(b));
  EXPECT_TRUE(first.expired()) << "a sky of children that nobody has any more is kept";
  EXPECT_NE(second->version.fluxes, psv::version_of(psv::pack_sky<double>(Case(CaseOptions{}).sky_input())).fluxes);
}

TEST(PackedSkies, AreForgottenWhenOthersCome) {
  Case c(CaseOptions{});
  psv::PackedSkies skies;
  std::vector<std::shared_ptr<int>> alive;
  std::vector<std::weak_ptr<const psv::PackedSky>> packed;
  for (int i = 0; i < 6; ++i)
    packed.emplace_back(skies.get(c.sky_input(), children(alive.emplace_back(std::make_shared<int>()))));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(packed[static_cast<std::size_t>(i)].expired(), i < 2) << i;
}

TEST(PackedSkies, VersionsTellWhatHasChanged) {
  CaseOptions o;
  o.gaussians = true;
  o.polarisation = Polarisation::kFull;  // one that becomes polarised is packed elsewhere
  Case c(o);
  const auto version = [&c] { return psv::version_of(psv::pack_sky<double>(c.sky_input())); };
  const psv::SkyVersion first = version();
  c.brightness[3].re += 1e-9;
  const psv::SkyVersion brighter = version();
  EXPECT_EQ(brighter.places, first.places);
  EXPECT_NE(brighter.fluxes, first.fluxes);
  for (double* value : {&c.l[1], &c.m[2], &c.major[0], &c.angle[2]}) {
    *value += 1e-9;
    const psv::SkyVersion moved = version();
    EXPECT_NE(moved.places, first.places);
    *value -= 1e-9;
  }
}

TEST(PackedSky, BlocksAreOfOneKind) {
  CaseOptions o;
  o.n_source = 303;
  o.gaussians = o.disks = true;
  o.polarisation = Polarisation::kFew;
  const Case c(o);
  const psv::Sky<double> sky = psv::pack_sky<double>(c.sky_input());
  ASSERT_EQ(sky.planes.size(), 4u);
  std::size_t next = 0, n_one_plane = 0;
  for (const psv::SourceBlock& block : sky.blocks) {
    EXPECT_EQ(block.begin, next);
    EXPECT_LE(block.end - block.begin, psv::kBlockSources);
    for (std::size_t s = block.begin; s < block.end; ++s) {
      const std::size_t source = sky.order[s];
      EXPECT_EQ(block.profile != kPoint, s >= sky.n_point);
      EXPECT_EQ(block.profile, c.major[source] > 0 ? profile_of(c.profile[source]) : kPoint);
      const auto own = [&](std::size_t element) { return c.brightness[element * o.n_source + source]; };
      const bool unpolarised = own(0) == own(3) && own(1) == Complex<double>() && own(2) == Complex<double>();
      EXPECT_EQ(block.one_plane, unpolarised);
      n_one_plane += block.one_plane;
      if (s > block.begin) {
        EXPECT_LT(sky.order[s - 1], source) << "the caller's order is kept";
      }
    }
    next = block.end;
  }
  EXPECT_EQ(next, o.n_source);
  EXPECT_EQ(n_one_plane, 242u);  // of 303 all but numbers 2, 7, ... 302
}

/// Of shapes and spectra, in which only some sources have flux, each at one channel alone.
struct PartlyDark {
  explicit PartlyDark(std::vector<std::size_t> lit) : c(options()) {
    for (Complex<double>& e : c.brightness) e = {};
    for (const std::size_t s : lit) c.brightness[s * c.n_channel() + c.n_channel() - 1].re = 1;
  }
  static CaseOptions options() {
    CaseOptions o;
    o.n_source = 101;
    o.gaussians = o.disks = o.spectra = true;
    return o;
  }
  psv::Sky<double> sky() const {
    psv::SkyInput input = c.sky_input();
    input.only_with_flux = true;
    return psv::pack_sky<double>(input);
  }
  std::vector<std::size_t> sources() const {
    std::vector<std::size_t> order = sky().order;
    std::sort(order.begin(), order.end());
    return order;
  }
  Case c;
};
using Sources = std::vector<std::size_t>;

TEST(PackedSky, LeavesOutSourcesWithoutFlux) {
  const PartlyDark dark({3, 4, 70, 100});
  EXPECT_EQ(dark.sources(), (Sources{3, 4, 70, 100}));
  const psv::Sky<double> sky = dark.sky();
  EXPECT_EQ(sky.n_source, 4u);
  EXPECT_EQ(sky.l.size(), 4u);
  EXPECT_EQ(sky.n_point + sky.axes.size(), 4u);
  EXPECT_EQ(sky.blocks.back().end, 4u);
  EXPECT_EQ(sky.total_flux, 4);
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(sky.l[s], dark.c.l[sky.order[s]]);
    EXPECT_EQ(s < sky.n_point, dark.c.major[sky.order[s]] == 0);
  }
  EXPECT_EQ(psv::pack_sky<double>(dark.c.sky_input()).n_source, 101u) << "who needs all sources gets them";
}

TEST(PackedSky, KeepsDarkSourcesThatAreNoNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  PartlyDark dark({3});
  dark.c.m[50] = nan;
  dark.c.n[51] = std::numeric_limits<double>::infinity();
  ASSERT_GT(dark.c.major[60], 0);
  dark.c.axes[6 * 60 + 4] = nan;
  dark.c.brightness[(2 * 101 + 80) * dark.c.n_channel() + 1].im = nan;
  EXPECT_EQ(dark.sources(), (Sources{3, 50, 51, 60, 80}));
}

TEST(PackedSky, KeepsOneSourceOfASkyWithoutFlux) { EXPECT_EQ(PartlyDark({}).sources(), Sources{0}); }

}  // namespace
}  // namespace rimetree::testing
