// The F-engine's arithmetic: spectra of a signal by a windowed Fourier transform or a polyphase filter bank.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace rimetree::correlator {

/// What tapers the samples of a spectrum.
enum class Window : std::uint8_t { rectangular, hann, hamming };  // as in the choices of Channelise

/// Spectra of n_channel channels, one for each step of samples. With one tap the window is the taper; with more the
/// spectrum is made of `taps` steps of samples, weighted with a sinc, a channel wide, times the taper. Weights are
/// scaled so that white noise of variance s^2 has power n_channel s^2 in each channel, as in a plain transform
/// (for real samples 2 n_channel s^2).
class FilterBank {
 public:
  /// `lanes`: signals that are transformed together, side by side. Throws Error where n_channel or taps is 0, or the
  /// transform is too long.
  FilterBank(std::size_t n_channel, std::size_t taps, Window window, bool real_samples, std::size_t lanes = 1);
  ~FilterBank();

  /// As many lanes as leave a transform in the first cache, at most 16: few do not fill vectors, and of many the last
  /// ones push out the first.
  static std::size_t best_lanes(std::size_t n_channel, bool real_samples);

  std::size_t n_channel() const { return n_channel_; }
  std::size_t lanes() const { return lanes_; }
  /// Samples from one spectrum to the next: n_channel, or twice as many real ones.
  std::size_t step() const { return step_; }
  /// Samples that a spectrum is made of: taps steps.
  std::size_t length() const { return weights_.size(); }
  /// How many of them lie before its own step: the window's middle is the step's.
  std::size_t lead() const { return (length() - step_) / 2; }
  const std::vector<float>& weights() const { return weights_; }
  /// Independent spectra per spectrum of white noise: below 1 where windows overlap.
  double independent() const;

  /// What run() needs besides, one for each thread.
  class Scratch {
   public:
    explicit Scratch(const FilterBank& bank);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class FilterBank;
    float *folded_, *bins_;
  };

  /// The spectra of `length()` samples [sample][lane] (re, im; or real ones) as re, im [bin][lane] in the transform's
  /// order: X_k = sum x_n exp(-2 pi i k n / step), n counted from the step's first sample. They stay in the scratch.
  const float* run(const float* samples, Scratch& scratch) const;
  /// The second half of run(): the spectra of `step()` samples that have been weighted and added up.
  const float* transform(const float* folded, Scratch& scratch) const;
  /// Where of the folded samples the window's first one goes; the next ones follow, round the end.
  std::size_t turn() const { return (step_ - lead() % step_) % step_; }
  bool is_plain() const { return plain_; }
  bool is_real() const { return real_; }
  /// Bin of a channel. Channels ascend in frequency: of complex samples the middle one (n_channel / 2) is at zero, of
  /// real ones the first; there the bin of half the sampling rate is left out.
  std::size_t bin_of(std::size_t channel) const {
    return real_ ? channel : (channel + n_channel_ - n_channel_ / 2) % n_channel_;
  }
  /// Frequency of a channel, in turns per sample.
  double frequency(std::size_t channel) const {
    return (double(channel) - (real_ ? 0.0 : double(n_channel_ / 2))) / double(step_);
  }

 private:
  void fold(const float* samples, float* folded) const;

  struct Plan;
  std::size_t n_channel_, step_, lanes_;
  bool real_, plain_;
  std::vector<float> weights_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace rimetree::correlator
