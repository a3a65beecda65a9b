// Skies that vary in time, one time after the other: at each of them a sky is one that the kernels take.
#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "nodes/psv/operands.h"

namespace rimetree::psv {

class SingleTimes {
 public:
  explicit SingleTimes(const ChildLayout& layout) : layout_(layout) {}
  /// Whether single times are less work than single cells.
  static bool pays(std::size_t n_node, int n_source, int n_channel);

  /// Takes those of which kernels do each time, if all together that is less work than to do them cell by cell: gives
  /// the others.
  std::vector<Evaluation*> take(std::span<Evaluation* const> batch);
  /// The same of a reverse pass.
  std::vector<PullBack*> take(std::span<PullBack* const> batch);
  const Evaluation* first() const { return given_.empty() ? nullptr : given_.front(); }
  bool empty() const { return given_.empty() && given_pulls_.empty(); }
  std::int32_t n_time() const { return n_time_; }

  // What was taken, as it is at one time; children that are the same are so there, too.

  std::vector<Evaluation*> evaluations_at(std::int32_t time);
  std::vector<PullBack*> pulls_at(std::int32_t time);
  /// Brings what was made of them to where it belongs, and lets go of them.
  void finish();

 private:
  struct Seen {
    Result result;
    std::vector<const Result*> children;
  };
  template <class Item>
  std::vector<Item*> taken_of(std::span<Item* const> batch, std::vector<Item*>& taken);
  void begin(const Request& request, std::int32_t time);
  Evaluation& at_time(const Evaluation& evaluation);
  const Result* at_time(const Result* result, memory::Pool& pool);
  const Vells& at_time(const Vells& values, memory::Pool& pool);
  template <class Move>
  void to_all_times(const Vells& at_time, Vells& values, const Move& move) const;
  void finish(Evaluation& given, Result& seen) const;

  const ChildLayout& layout_;
  std::int32_t n_time_ = 0, time_ = 0;
  std::vector<Evaluation*> given_;
  std::vector<PullBack*> given_pulls_;
  Request request_;
  std::map<const void*, Vells> values_;  // by where they are at all times
  std::map<const Result*, Result> results_;
  std::deque<Seen> seen_;
  std::deque<Evaluation> evaluations_;
  std::deque<Vells> adjoints_;
  std::deque<PullBack> pulls_;
  std::map<Vells*, Vells> gained_;  // by the adjoint that it is for
};

}  // namespace rimetree::psv
