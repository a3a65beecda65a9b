#include "nodes/correlator/file_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <limits>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

/// Files of groups as four capture computers write them: each word tells receiver, input and time. Groups may be left
/// out or come twice.
class Groups {
 public:
  static constexpr int kInputs = 16;
  explicit Groups(const std::vector<std::vector<int>>& times, int first_counter = 0) {
    for (std::size_t receiver = 0; receiver < times.size(); ++receiver) {
      paths_.push_back(::testing::TempDir() + "rimetree-groups-" + std::to_string(getpid()) + "-" +
                       std::to_string(receiver));
      std::ofstream file(paths_.back(), std::ios::binary);
      for (const int t : times[receiver]) {
        put(file, first_counter + t);
        for (int input = 0; input < kInputs; ++input) put(file, word(static_cast<int>(receiver) * kInputs + input, t));
      }
    }
  }
  ~Groups() {
    for (const std::string& path : paths_) unlink(path.c_str());
  }
  static int word(int input, int t) { return (17 * input + 5 * t) & 1023; }
  const std::vector<std::string>& paths() const { return paths_; }
  void cut(std::size_t receiver, int bytes) const { ASSERT_EQ(truncate(paths_[receiver].c_str(), bytes), 0); }

 private:
  static void put(std::ofstream& file, int value) {
    file.put(static_cast<char>(value & 255));
    file.put(static_cast<char>(value >> 8 & 255));
  }
  std::vector<std::string> paths_;
};

StreamShape shape_of(std::size_t receivers) {
  StreamShape shape;
  shape.format = sample_format("mwa32t");
  shape.n_input = 16 * receivers;
  return shape;
}

std::vector<int> counted(int from, int to) {
  std::vector<int> times;
  for (int t = from; t < to; ++t) times.push_back(t);
  return times;
}

struct Running {
  ThreadPool threads{1};
  Cancellation cancellation;
};

void expect_second_sample_refused(FileStream& stream, Running& run, const std::string& why) {
  EXPECT_EQ(stream.read(0, 1, run.threads, run.cancellation).view.n_time, 1u);
  try {
    stream.read(0, 2, run.threads, run.cancellation);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

std::string refusal(const std::vector<std::string>& paths, std::size_t receivers) {
  Running run;
  try {
    GroupStream(paths, shape_of(receivers), false).read(0, 1000, run.threads, run.cancellation);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

// M1, M3: markers are taken out, and the 64 samples of an instant lie side by side; blocks of any size, also across
// the end of the counter.
TEST(GroupStream, PutsReceiversSideBySide) {
  Running run;
  const Groups groups(std::vector<std::vector<int>>(4, counted(0, 500)), 65300);
  for (const std::size_t size : {1, 7, 64, 499, 500, 700}) {
    GroupStream stream(groups.paths(), shape_of(4), false);
    std::int64_t first = 0;
    while (true) {
      const SampleBlock block = stream.read(first, size, run.threads, run.cancellation);
      if (block.view.n_time == 0) break;
      ASSERT_EQ(block.first, first);
      EXPECT_EQ(block.mask, nullptr);
      for (std::size_t t = 0; t < block.view.n_time; ++t)
        for (int input = 0; input < 64; ++input)
          ASSERT_EQ(block.view.code(t, 0, static_cast<std::size_t>(input)), Groups::word(input, int(first) + int(t)));
      first += static_cast<std::int64_t>(block.view.n_time);
    }
    EXPECT_EQ(first, 500);
    EXPECT_EQ(stream.read(3, 2, run.threads, run.cancellation).view.code(1, 0, 5), Groups::word(5, 4));  // and back
    EXPECT_EQ(stream.read(-5, 5, run.threads, run.cancellation).view.n_time, 0u);
  }
}

// Receivers that began at different times: sample 0 is the first that all have.
TEST(GroupStream, AlignsReceiversByTheirCounters) {
  Running run;
  const Groups groups({counted(10, 50), counted(13, 40)}, 65525);
  GroupStream stream(groups.paths(), shape_of(2), false);
  const SampleBlock block = stream.read(0, 100, run.threads, run.cancellation);
  ASSERT_EQ(block.view.n_time, 27u);
  for (std::size_t t = 0; t < 27; ++t)
    for (const int input : {0, 15, 16, 31})
      EXPECT_EQ(block.view.code(t, 0, static_cast<std::size_t>(input)), Groups::word(input, 13 + int(t)));
  EXPECT_NE(stream.report().find(groups.paths()[0] + ": its first 3 groups are left out"), std::string::npos)
      << stream.report();
  EXPECT_EQ(stream.report().find(groups.paths()[1]), std::string::npos) << stream.report();
}

// M1: a group that is missing or comes again is told with its counter; a cut one too.
TEST(GroupStream, SaysWhichCounterIsBroken) {
  std::vector<int> dropped = counted(0, 100), twice = counted(0, 100);
  dropped.erase(dropped.begin() + 37);
  twice.insert(twice.begin() + 38, 37);
  const Groups drop({dropped});
  EXPECT_NE(
      refusal(drop.paths(), 1).find("the counter of group 37 (at byte 1258) is 38, expected 37: 1 groups are missing"),
      std::string::npos)
      << refusal(drop.paths(), 1);
  const Groups again({twice});
  EXPECT_NE(
      refusal(again.paths(), 1).find("the counter of group 38 (at byte 1292) is 37, expected 38: groups come again"),
      std::string::npos);
  const Groups cut({counted(0, 10)});
  cut.cut(0, 9 * 34 + 10);
  EXPECT_NE(refusal(cut.paths(), 1).find("ends in the middle of group 9: of its 34 bytes there are 10"),
            std::string::npos);
}

// Lost groups are masked, for their receiver alone; what comes again and a cut end are passed over.
TEST(GroupStream, MasksWhatIsLost) {
  Running run;
  std::vector<int> damaged = counted(0, 100);
  damaged.erase(damaged.begin() + 20, damaged.begin() + 25);
  damaged.insert(damaged.begin() + 50, {3, 4, 54});
  const Groups groups({counted(0, 100), damaged});
  groups.cut(1, 98 * 34 - 1);  // the last of them
  GroupStream stream(groups.paths(), shape_of(2), true);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const SampleBlock block = stream.read(0, 200, run.threads, run.cancellation);
    ASSERT_EQ(block.view.n_time, 100u);
    for (std::size_t t = 0; t < 100; ++t) {
      EXPECT_TRUE(block.mask->counts(3, t));
      EXPECT_EQ(block.mask->counts(20, t), (t < 20 || t >= 25) && t != 99) << t;
      if (block.mask->counts(20, t)) {
        EXPECT_EQ(block.view.code(t, 0, 20), Groups::word(20, int(t)));
      }
    }
    EXPECT_NE(stream.report().find("5 groups lost, 3 repeated"), std::string::npos) << stream.report();
  }
}

// Windows that overlap ask for samples again: the same ones, what is lost is lost once, and nobody reads the file from
// its beginning for them, which would take sixty times as long here, and longer the longer the file is.
TEST(GroupStream, ReadsWhatOverlapsWithoutBeginningAnew) {
  constexpr int kGroups = 400000, kBlock = 100, kOverlap = 30;
  std::vector<int> times;
  for (int t = 0; t < kGroups; ++t)
    if (t % 1000 != 77) times.push_back(t);
  const Groups groups({times}, 5);
  GroupStream stream(groups.paths(), shape_of(1), true);
  Running run;
  const std::clock_t begun = std::clock();
  for (int first = 0; first < kGroups; first += kBlock - kOverlap) {
    const SampleBlock block = stream.read(first, kBlock, run.threads, run.cancellation);
    ASSERT_EQ(block.first, first);
    for (std::size_t t = 0; t < block.view.n_time; ++t) {
      const int number = first + static_cast<int>(t);
      ASSERT_EQ(block.mask == nullptr || block.mask->counts(3, t), number % 1000 != 77) << number;
      ASSERT_EQ(block.view.code(t, 0, 3), number % 1000 != 77 ? Groups::word(3, number) : 0) << number;
    }
  }
  EXPECT_LT(double(std::clock() - begun) / CLOCKS_PER_SEC, 5);
  EXPECT_NE(stream.report().find(": 400 groups lost, 0 repeated"), std::string::npos) << stream.report();
  const SampleBlock again = stream.read(0, kBlock, run.threads, run.cancellation);
  ASSERT_EQ(again.view.n_time, std::size_t{kBlock});
  EXPECT_EQ(again.view.code(5, 0, 3), Groups::word(3, 5));
}

TEST(GroupStream, RefusesWhatIsNoGroup) {
  const Groups groups({counted(0, 4), counted(0, 4), counted(0, 4)});
  StreamShape shape = shape_of(3);
  shape.n_input = 40;
  EXPECT_THROW(GroupStream(groups.paths(), shape, false), Error);
  shape = shape_of(3);
  shape.format = sample_format("chime");
  EXPECT_THROW(GroupStream(groups.paths(), shape, false), Error);
}

// A code that no digitiser writes: the file is of another format or order.
TEST(FileStream, SaysWhichCodeIsImpossible) {
  Running run;
  const std::string path = ::testing::TempDir() + "rimetree-codes-" + std::to_string(getpid());
  {
    std::ofstream file(path, std::ios::binary);
    for (int k = 0; k < 12; ++k) {
      file.put(static_cast<char>(k));
      file.put(static_cast<char>(k == 9 ? 4 : 3));
    }
  }
  StreamShape shape = shape_of(1);
  shape.n_input = 2;
  shape.n_channel = 3;
  FileStream stream(path, shape, sample_order("time,channel,input"));
  expect_second_sample_refused(stream, run,
                               "sample 1, channel 1, input 1 has the code 0x0409, which is impossible in format "
                               "\"mwa32t\"");
  unlink(path.c_str());
}

// A number that is not finite would be in all products for good.
TEST(FileStream, SaysWhichNumberIsNotFinite) {
  Running run;
  const std::string path = ::testing::TempDir() + "rimetree-floats-" + std::to_string(getpid());
  {
    std::vector<float> numbers(2 * 12, 1.0f);
    numbers[2 * 9 + 1] = std::numeric_limits<float>::infinity();
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(numbers.data()), 12 * 8);
  }
  StreamShape shape = shape_of(1);
  shape.format = sample_format("float32");
  shape.n_input = 2;
  shape.n_channel = 3;
  FileStream stream(path, shape, sample_order("time,channel,input"));
  expect_second_sample_refused(stream, run, "sample 1, channel 1, input 1 is not finite");
  unlink(path.c_str());
}

}  // namespace

}  // namespace rimetree::correlator
