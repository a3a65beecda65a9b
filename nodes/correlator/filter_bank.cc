#include "nodes/correlator/filter_bank.h"

#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <numbers>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kAlignment = 64;
std::mutex planner;  // FFTW's is not for several threads

double taper(Window window, std::size_t n, std::size_t length) {
  const double phase = 2 * std::numbers::pi * (double(n) + 0.5) / double(length);
  switch (window) {
    case Window::hann:
      return 0.5 - 0.5 * std::cos(phase);
    case Window::hamming:
      return 0.54 - 0.46 * std::cos(phase);
    case Window::rectangular:
      break;
  }
  return 1;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

float* aligned_floats(std::size_t n) {
  return static_cast<float*>(::operator new[](n * sizeof(float), std::align_val_t{kAlignment}));
}
void free_floats(float* memory) { ::operator delete[](memory, std::align_val_t{kAlignment}); }

}  // namespace

struct FilterBank::Plan {
  fftwf_plan plan = nullptr;
  ~Plan() {
    const std::lock_guard lock(planner);
    fftwf_destroy_plan(plan);
  }
};

std::size_t FilterBank::best_lanes(std::size_t n_channel, bool real_samples) {
  constexpr std::size_t kNumbers = 4096, kMost = 16;
  return std::clamp<std::size_t>(kNumbers / (2 * std::max<std::size_t>(1, real_samples ? 2 * n_channel : n_channel)), 1,
                                 kMost);
}

FilterBank::FilterBank(std::size_t n_channel, std::size_t taps, Window window, bool real_samples, std::size_t lanes)
    : n_channel_(n_channel),
      step_(real_samples ? 2 * n_channel : n_channel),
      lanes_(lanes),
      real_(real_samples),
      plain_(taps == 1 && window == Window::rectangular) {
  constexpr std::size_t kLongest = std::numeric_limits<int>::max() / 4;
  if (n_channel < 1 || taps < 1 || n_channel > kLongest || taps > kLongest / step_)
    throw Error("a filter bank of " + std::to_string(n_channel) + " channels and " + std::to_string(taps) +
                " taps: expected at least 1 of each, and at most " + std::to_string(kLongest) + " samples in a window");
  std::vector<double> weights(taps * step_);
  double power = 0;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    const double steps = (double(n) - 0.5 * double(weights.size() - 1)) / double(step_);
    weights[n] = (taps > 1 ? sinc(steps) : 1.0) * taper(window, n, weights.size());
    power += weights[n] * weights[n];
  }
  for (const double weight : weights) weights_.push_back(float(weight * std::sqrt(double(step_) / power)));

  Scratch scratch(*this);
  const auto n = static_cast<int>(step_);
  // What is planned by measuring differs from run to run, in time and in the last bits.
  const unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;
  auto* bins = reinterpret_cast<fftwf_complex*>(scratch.bins_);
  plan_ = std::make_unique<Plan>();
  const std::lock_guard lock(planner);
  const auto many = static_cast<int>(lanes);
  plan_->plan =
      real_ ? fftwf_plan_many_dft_r2c(1, &n, many, scratch.folded_, nullptr, many, 1, bins, nullptr, many, 1, flags)
            : fftwf_plan_many_dft(1, &n, many, reinterpret_cast<fftwf_complex*>(scratch.folded_), nullptr, many, 1,
                                  bins, nullptr, many, 1, FFTW_FORWARD, flags);
  if (plan_->plan == nullptr) throw Error("FFTW has no plan for a transform of length " + std::to_string(n));
}

FilterBank::~FilterBank() = default;

double FilterBank::independent() const {
  double power = 0, sum = 0;
  for (const float weight : weights_) power += double(weight) * weight;
  for (std::size_t shift = step_; shift < weights_.size(); shift += step_) {
    double product = 0;
    for (std::size_t n = shift; n < weights_.size(); ++n) product += double(weights_[n]) * weights_[n - shift];
    sum += product * product / (power * power);
  }
  return 1 / (1 + 2 * sum);
}

FilterBank::Scratch::Scratch(const FilterBank& bank)
    : folded_(aligned_floats(2 * bank.step_ * bank.lanes_)),
      bins_(aligned_floats((2 * bank.step_ + 2) * bank.lanes_)) {}
FilterBank::Scratch::~Scratch() {
  free_floats(folded_);
  free_floats(bins_);
}

/// Adds up steps; the window's samples are turned round so that the step's own first sample comes first.
void FilterBank::fold(const float* samples, float* folded) const {
  const std::size_t numbers = (real_ ? 1 : 2) * lanes_;  // that have the same weight
  std::fill_n(folded, numbers * step_, 0.0f);
  for (std::size_t begin = 0; begin < weights_.size();) {
    const std::size_t to = (begin + turn()) % step_, n = std::min(step_ - to, weights_.size() - begin);
    const float* x = samples + numbers * begin;
    float* sum = folded + numbers * to;
    for (std::size_t k = 0; k < n; ++k, x += numbers, sum += numbers) {
      const float weight = weights_[begin + k];
      for (std::size_t i = 0; i < numbers; ++i) sum[i] += weight * x[i];
    }
    begin += n;
  }
}

const float* FilterBank::run(const float* samples, Scratch& scratch) const {
  if (plain_) return transform(samples, scratch);
  fold(samples, scratch.folded_);
  return transform(scratch.folded_, scratch);
}

const float* FilterBank::transform(const float* folded, Scratch& scratch) const {
  // FFTW is twice as fast where vectors begin, and gives other last bits elsewhere.
  if (reinterpret_cast<std::uintptr_t>(folded) % kAlignment != 0) {
    std::copy_n(folded, (real_ ? 1 : 2) * step_ * lanes_, scratch.folded_);
    folded = scratch.folded_;
  }
  // FFTW keeps its hands off the input, but does not say so in its types.
  auto* from = const_cast<float*>(folded);
  auto* bins = reinterpret_cast<fftwf_complex*>(scratch.bins_);
  if (real_)
    fftwf_execute_dft_r2c(plan_->plan, from, bins);
  else
    fftwf_execute_dft(plan_->plan, reinterpret_cast<fftwf_complex*>(from), bins);
  return scratch.bins_;
}

}  // namespace rimetree::correlator
