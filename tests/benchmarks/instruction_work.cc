// Small fixed pieces of work whose machine instructions instructions_test.cc counts: what is counted happens inside
// measured(). Prints how many units of work that was.
//
//   instruction_work NAME [SHARE]     SHARE: part of the work that is done twice, as a slowdown would
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "nodes/psv/delay/delay.h"
#include "runtime/evaluate/evaluator.h"
#include "tests/support/many_node_tree.h"
#include "tests/support/project_plugins.h"
#include "tests/support/psv_case.h"

using namespace rimetree;

// Found by its name in the program.
extern "C" __attribute__((noinline)) void measured(const std::function<void()>& work) { work(); }

namespace {

/// Does the work once uncounted, so that what happens only once is over, then counted; `work` gets a part from 0 to 1.
void count(double share, const std::function<void(double)>& work) {
  work(1);
  measured([&] {
    work(1);
    if (share > 0) work(share);
  });
}

testing::CaseOptions psv_options() {
  testing::CaseOptions options;
  options.n_source = 200;
  options.n_baseline = 16;
  options.n_time = 4;
  options.n_channel = 64;
  options.polarisation = testing::Polarisation::kFull;
  return options;
}

testing::CaseOptions shaped_options() {
  testing::CaseOptions options = psv_options();
  options.polarisation = testing::Polarisation::kUnpolarised;
  options.gaussians = true;  // every other source
  return options;
}

/// Where the visibilities of a case's rows go.
struct Target {
  explicit Target(const testing::Case& c) : values(c.n_row() * 4 * c.n_channel()) {
    for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(values.data() + r * 4 * c.n_channel());
    output = {row.data(), std::ptrdiff_t(c.n_channel())};
  }
  std::vector<Complex<double>> values;
  std::vector<Complex<double>*> row;
  psv::Output output;
};

std::size_t part_of(double part, std::size_t n_row) { return std::size_t(part * double(n_row)); }

psv::Channels channels_of(const testing::Case& c) {
  return psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
}

/// Units: source-visibilities.
template <class T>
double direct(double share, const testing::CaseOptions& options) {
  const testing::Case c(options);
  const psv::Sky<T> sky = psv::pack_sky<T>(c.sky_input());
  const psv::Channels channels = channels_of(c);
  const psv::JonesTerms none;
  psv::Workspace<T> workspace(sky, channels, none);
  const Target target(c);
  count(share, [&](double part) {
    psv::evaluate_rows(sky, channels, c.psv_rows(), none, 0, part_of(part, c.n_row()), workspace, target.output);
  });
  return double(c.n_row() * c.n_channel() * sky.n_source);
}

/// Units: rows of 100 sources and 4096 channels.
double delay(double share) {
  testing::CaseOptions options = psv_options();
  options.n_source = 100;
  options.n_channel = 4096;
  options.spacing_hz = 1e4;
  const testing::Case c(options);
  const psv::Channels channels = channels_of(c);
  psv::delay::DelayPlan plan =
      psv::delay::plan_delay({psv::pack_sky<double>(c.sky_input()), channels, c.psv_rows(), psv::JonesTerms()}, 1e-6);
  if (!plan.obstacle.empty()) {
    std::fprintf(stderr, "no delay method: %s\n", plan.obstacle.c_str());
    std::exit(1);
  }
  psv::delay::finish_delay_plan(plan);
  const psv::delay::DelayWorkspace workspace(plan);
  const Target target(c);
  count(share, [&](double part) {
    psv::delay::evaluate_delay_rows(plan, c.psv_rows(), 0, part_of(part, c.n_row()), workspace, target.output);
  });
  return double(c.n_row());
}

/// Units: nodes. The test leaves out what the nodes' own classes do: its switch at their entry works inside measured()
/// only, so that nothing may be evaluated before.
double tree(double share, bool fuse) {
  test::load_project_plugins();
  const testing::ManyNodeTree many{.n_baseline = 100, .n_source = 10, .n_time = 2, .n_channel = 2};
  const auto forest = Forest::build(many.specs());
  Evaluator evaluator(forest, {.threads = 1, .as_written = true, .fuse = fuse});
  std::vector<int> roots;
  for (std::size_t b = 0; b < many.n_baseline; ++b) roots.push_back(forest->find(many.root(b)));
  std::size_t group = 0;
  const auto evaluate = [&](double part) {
    Request request;
    request.cells = many.cells(group++);
    const std::vector<int> some(roots.begin(), roots.begin() + std::ptrdiff_t(part_of(part, roots.size())));
    if (!evaluator.evaluate(request, some).front()->ok()) std::exit(1);
  };
  std::uint64_t evaluated = 0;
  measured([&] {
    for (int round = 0; round < 3; ++round) {
      evaluator.reset_timing();
      evaluate(1);
      for (const auto& [name, timing] : evaluator.timing().classes) evaluated += timing.evaluations;
      if (share > 0) evaluate(share);
    }
  });
  return double(evaluated);
}

/// Units: nodes that are built and planned.
double building(double share) {
  test::load_project_plugins();
  const auto specs = [](double part) {
    return testing::ManyNodeTree{.n_baseline = part_of(part, 100), .n_source = 100, .n_time = 2, .n_channel = 2}
        .specs();
  };
  const auto whole = specs(1), some = specs(share);
  count(share, [&](double part) {
    const Evaluator evaluator(Forest::build(part < 1 ? some : whole), {.threads = 1, .as_written = true});
    if (evaluator.plan().batches().empty()) std::exit(1);
  });
  return double(whole.size());
}

const std::map<std::string, std::function<double(double)>> kWork{
    {"psv-double", [](double share) { return direct<double>(share, psv_options()); }},
    {"psv-single", [](double share) { return direct<float>(share, psv_options()); }},
    {"psv-smearing",
     [](double share) {
       testing::CaseOptions options = psv_options();
       options.smearing = true;
       return direct<double>(share, options);
     }},
    {"psv-shapes-double", [](double share) { return direct<double>(share, shaped_options()); }},
    {"psv-shapes-single", [](double share) { return direct<float>(share, shaped_options()); }},
    {"psv-delay", delay},
    {"building", building},
    {"tree", [](double share) { return tree(share, false); }},
    {"tree-fused", [](double share) { return tree(share, true); }},
};

}  // namespace

int main(int argc, char** argv) {
  const auto work = kWork.find(argc > 1 ? argv[1] : "");
  if (work == kWork.end()) return 2;
  const double units = work->second(argc > 2 ? std::atof(argv[2]) : 0);
  std::printf("\nunits %.0f\ninstruction set %s\n", units, psv::instruction_set().c_str());
}
