// Rows as differences of one vector per antenna.
#include "nodes/psv/antennas.h"

#include <gtest/gtest.h>

namespace rimetree::testing {
namespace {

/// Rows of one time slot between antennas at places along u.
struct Line {
  std::vector<double> u, v, w;
  std::vector<std::int32_t> baseline, time;
  psv::BaselineEnds ends;
  void add(int p, int q, double length, int at_time = 0) {
    u.push_back(length), v.push_back(0), w.push_back(0);
    baseline.push_back(static_cast<std::int32_t>(ends.p.size())), time.push_back(at_time);
    ends.p.push_back(p), ends.q.push_back(q);
  }
  psv::AntennaPlan plan(double limit_m = 1e-9, bool zero_is_one_antenna = true) const {
    psv::Rows rows;
    rows.n_row = u.size();
    rows.u = u.data(), rows.v = v.data(), rows.w = w.data();
    rows.baseline = baseline.data(), rows.time = time.data();
    psv::Extent extent;
    extent.include(1, 1, 1);
    ThreadPool threads(2);
    return psv::antenna_plan(rows, ends, extent, limit_m, zero_is_one_antenna, threads);
  }
};

TEST(PsvAntennas, PlacesExplainAllRowsOfASlot) {
  Line line;
  line.add(0, 1, -10), line.add(2, 0, 25), line.add(1, 2, -15), line.add(2, 2, 0);
  line.add(0, 1, -12, 1);  // another time, another length
  line.add(8, 9, 100, 1);  // antennas without a baseline to the others
  const psv::AntennaPlan plan = line.plan();
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(plan.n_antenna, 5u);
  EXPECT_EQ(plan.layers.size(), 2u);
  for (std::size_t r = 0; r < line.u.size(); ++r) {
    const psv::AntennaLayer& layer = plan.layers[static_cast<std::size_t>(plan.rows[r].layer)];
    EXPECT_EQ(layer.time, line.time[r]);
    EXPECT_EQ(layer.place[static_cast<std::size_t>(plan.rows[r].p)].x -
                  layer.place[static_cast<std::size_t>(plan.rows[r].q)].x,
              line.u[r]);
  }
}

TEST(PsvAntennas, ASecondRowOfABaselineIsALayerOfItsOwn) {
  Line line;
  line.add(0, 1, -10), line.add(0, 1, -11), line.add(1, 2, -15), line.add(0, 2, -25);
  const psv::AntennaPlan plan = line.plan();
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(plan.layers.size(), 2u);
  EXPECT_NE(plan.rows[0].layer, plan.rows[1].layer);
}

TEST(PsvAntennas, MissingRowsDoNotBendTheArray) {
  Line line;  // in a Measurement Set that lacks (0, 2) its place is filled with zeros
  line.add(0, 1, -10), line.add(0, 2, 0), line.add(1, 2, -15);
  EXPECT_EQ(line.plan().layers.size(), 1u);
  EXPECT_EQ(line.plan().rows[1].p, line.plan().rows[1].q);
  EXPECT_EQ(line.plan(1e-9, false).layers.size(), 2u) << "with Jones terms a row keeps its antennas";
}

TEST(PsvAntennas, TheMisfitIsMeasuredAndLimited) {
  Line line;
  line.add(0, 1, -10), line.add(1, 2, -15), line.add(0, 2, -25 + 1e-6);
  EXPECT_NEAR(line.plan(1e-5).misfit_m, 1e-6, 1e-12);
  EXPECT_EQ(line.plan(1e-5).layers.size(), 1u);
  EXPECT_EQ(line.plan(1e-7).layers.size(), 2u);
}

}  // namespace
}  // namespace rimetree::testing
