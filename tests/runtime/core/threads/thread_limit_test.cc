// The default number of threads: environment variables, affinity, and control groups of both versions as a container
// or a batch system sets them up.
#include "runtime/core/threads/thread_limit.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/core/error.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree {
namespace {

namespace fs = std::filesystem;

/// Sets environment variables for one test; nullptr unsets.
class Environment {
 public:
  Environment(const char* own, const char* openmp) {
    set("RIMETREE_NUM_THREADS", own);
    set("OMP_NUM_THREADS", openmp);
  }
  ~Environment() {
    unsetenv("RIMETREE_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
  }

 private:
  static void set(const char* name, const char* value) {
    if (value == nullptr)
      unsetenv(name);
    else
      setenv(name, value, 1);
  }
};

TEST(ThreadLimit, OwnVariableComesBeforeOpenmp) {
  const Environment environment("3", "5");
  EXPECT_EQ(default_threads(), 3);
  EXPECT_EQ(ThreadPool().size(), 3);
}

TEST(ThreadLimit, WhatIsAskedForComesBeforeVariables) {
  const Environment environment("3", "5");
  EXPECT_EQ(ThreadPool(2).size(), 2);
}

TEST(ThreadLimit, OpenmpIsTakenWhereOwnVariableIsNotSet) {
  for (const char* own : {static_cast<const char*>(nullptr), ""}) {
    const Environment environment(own, "5");
    EXPECT_EQ(default_threads(), 5);
  }
}

TEST(ThreadLimit, OfAListOfNestedLevelsTheFirstCounts) {
  const Environment environment(nullptr, " 4 ,2,1");
  EXPECT_EQ(default_threads(), 4);
}

TEST(ThreadLimit, MistakesInOwnVariableAreTold) {
  for (const char* wrong : {"0", "-2", "many", "2.5", "4,2", "2 cores", " ", "99999999999999999999"}) {
    const Environment environment(wrong, "5");
    try {
      default_threads();
      ADD_FAILURE() << wrong << " was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("RIMETREE_NUM_THREADS"), std::string::npos);
    }
  }
}

TEST(ThreadLimit, MistakesOfOpenmpAreNotOurs) {
  for (const char* wrong : {"0", "many", "", "4;2"}) {
    const Environment environment(nullptr, wrong);
    EXPECT_EQ(default_threads(), available_cores()) << wrong;
  }
}

TEST(ThreadLimit, AffinityLimits) {
  const Environment environment(nullptr, nullptr);
  int found = 0;
  // A thread of its own, so that the mask of the others stays.
  std::thread([&] {
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    found = default_threads();
  }).join();
  EXPECT_EQ(found, 1);
}

/// A copy of what a system shows below /proc and /sys.
class ControlGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::temp_directory_path() / ("rimetree_control_groups_" + name + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(root_); }
  void file(const std::string& path, const std::string& text) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::optional<double> cores() const { return control_group_cores(root_.string()); }

  fs::path root_;
};

TEST_F(ControlGroups, NoneIsNoLimit) { EXPECT_FALSE(cores()); }

TEST_F(ControlGroups, VersionTwo) {
  file("proc/self/cgroup", "0::/user.slice/job");
  file("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000");
  EXPECT_FALSE(cores());
  file("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000");
  EXPECT_EQ(cores(), 1.5);
}

TEST_F(ControlGroups, VersionTwoTheLeastOfAllAboveCounts) {
  file("proc/self/cgroup", "0::/a/b");
  file("sys/fs/cgroup/a/b/cpu.max", "800000 100000");
  file("sys/fs/cgroup/a/cpu.max", "300000 100000");
  file("sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(cores(), 3);
}

TEST_F(ControlGroups, VersionTwoInsideAContainer) {
  file("proc/self/cgroup", "0::/");
  file("sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(cores(), 2);
}

TEST_F(ControlGroups, VersionOne) {
  file("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/docker/0123\n1:cpuset:/");
  file("sys/fs/cgroup/memory/job/cpu.cfs_quota_us", "1");
  file("sys/fs/cgroup/memory/job/cpu.cfs_period_us", "100000");
  file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(cores());
  // The path of the host is not mounted in a container; its own group is the mount point.
  file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000");
  EXPECT_EQ(cores(), 2.5);
}

TEST_F(ControlGroups, BrokenFilesAreNoLimit) {
  file("proc/self/cgroup", "nonsense\n0::/a");
  for (const char* text : {"", "100000", "-5 100000", "100000 0", "x y"}) {
    file("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_FALSE(cores()) << text;
  }
}

}  // namespace
}  // namespace rimetree
