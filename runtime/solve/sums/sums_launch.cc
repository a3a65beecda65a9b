#include "runtime/solve/sums/sums_launch.h"

#include <vector>

#include "runtime/solve/sums/sums_body.h"

namespace rimetree {

/// Its tables describe arrays in their turn.
template <>
struct JobOnHost<solve::SumsJob> {
  using SumsJob = solve::SumsJob;
  using SumArray = solve::SumArray;

  JobOnHost(const memory::Device& device, const SumsJob& from) : job(from), resolve_(device) {
    resolve_(job.d_time, job.n_time + 1);
    resolve_(job.d_frequency, job.n_frequency + 1);
    resolve_(job.d_first_slot, job.n_block() + 1);
    resolve_(job.d_coefficient, job.n_coefficient);
    resolve_(job.d_partial, job.n_thread() * job.n_number());
    resolve_(job.d_sums, job.n_sum() * job.n_number());
    copy(job.d_equation, job.n_equation, equations_);
    copy(job.d_fixed, job.n_fixed, fixed_);
    copy(job.d_vector, job.n_vector, vectors_);
    resolve_(job.d_many, job.n_many);
    for (solve::SumEquation& equation : equations_)
      for (SumArray* array : {&equation.data, &equation.residual, &equation.weight, &equation.flags}) move(*array);
    for (SumArray& array : fixed_) move(array);
    for (solve::SumVector& vector : vectors_) move(vector.values);
    job.d_many = arrays_.data();
  }
  SumsJob job;

 private:
  /// Each of them becomes an array of its own.
  void move(SumArray& array) {
    if (array.base < 0) return;
    const std::byte* values = job.values<std::byte>(array);
    resolve_(values, static_cast<std::int64_t>(array.bytes));
    array.base = static_cast<std::int64_t>(SumsJob::kFewArrays + arrays_.size());
    array.offset = 0;
    arrays_.push_back(values);
  }
  /// A table of descriptions, so that these can be resolved in their turn.
  template <class T>
  void copy(const T*& array, std::int64_t count, std::vector<T>& to) const {
    resolve_(array, count);
    if (array != nullptr) to.assign(array, array + count);
    array = to.data();
  }
  ArraysOnHost resolve_;
  std::vector<solve::SumEquation> equations_;
  std::vector<SumArray> fixed_;
  std::vector<solve::SumVector> vectors_;
  std::vector<const std::byte*> arrays_;
};

namespace solve {

namespace {

void run_on_host(const SumsJob& job) {
  for (int tile = 0; tile < job.n_tile(); ++tile)
    for (std::int64_t thread = 0; thread < job.n_thread(); ++thread)
      job.is_real != 0 ? sum_lane<true>(job, thread, tile) : sum_lane<false>(job, thread, tile);
  for (std::int64_t thread = 0; thread < job.n_sum() * job.n_number(); ++thread) add_lanes(job, thread);
}

}  // namespace

void launch(memory::Queue& queue, const SumsJob& job) { launch_job(queue, job, &run_on_host); }

void launch(memory::Queue& queue, const SumListsJob& job) {
  launch_job(queue, job, [](const SumListsJob& on_host) {
    for (std::int64_t thread = 0; thread < on_host.n_total; ++thread) add_list(on_host, thread);
  });
}

}  // namespace solve
}  // namespace rimetree
