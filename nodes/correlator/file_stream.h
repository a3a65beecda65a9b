// Samples of files: all of them in one, or the groups of words that each receiver's capture computer wrote.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodes/correlator/mapped_file.h"
#include "nodes/correlator/sample_order.h"
#include "nodes/correlator/sample_stream.h"

namespace rimetree::correlator {

/// Throws Error where a code of the block has bits set that belong to no number: the format is not the right one.
void check_codes(const SampleBlock& block, const std::string& source);

/// One file without headers.
class FileStream final : public SampleStream {
 public:
  /// Throws Error naming the file where it cannot be read or holds no whole number of times.
  FileStream(const std::string& file, const StreamShape& shape, const SampleOrder& order);
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) override;

 private:
  MappedFile file_;
  std::string name_;
  StreamShape shape_;
  std::size_t n_time_;
  SamplePlaces places_;
  std::vector<std::uint8_t> copied_;  ///< where no view will do
};

/// Throws Error where samples of that shape cannot be groups of so many receivers.
void check_groups(const StreamShape& shape, std::size_t n_file);

/// Files of groups. Sample 0 is that of the first counter that all files have; counters go on from group to group,
/// modulo 65536.
class GroupStream final : public SampleStream {
 public:
  /// `lost_are_masked`: groups that a counter jumps over, up to 32767, are left out by the mask, and what comes again
  /// is passed over; else both are errors. Throws Error naming the file where it cannot be read or ends in a group.
  GroupStream(const std::vector<std::string>& files, const StreamShape& shape, bool lost_are_masked);
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) override;
  std::string report() const override;

 private:
  /// How far a receiver's file has been read.
  struct Place {
    std::size_t next = 0;      ///< group that is read next
    std::int64_t number = -1;  ///< sample of the last group that was taken
    std::uint64_t lost = 0, repeated = 0;
  };
  struct Receiver {
    std::string name;
    std::unique_ptr<MappedFile> file;
    std::size_t n_group = 0;
    std::int64_t start = 0;  ///< number of the first group's sample
    Place now;
    /// Where the samples asked for last begin, and from which on they were: what overlaps is read from there again, and
    /// not from the file's beginning.
    Place before;
    std::int64_t asked = 0;
  };
  std::uint16_t counter(const Receiver& receiver, std::size_t group) const;
  /// Copies the groups of [first, first + n) and notes which there are; returns behind the last sample that was there.
  std::int64_t take(std::size_t index, std::int64_t first, std::size_t n, SampleMask& there);
  /// Of the inputs of all receivers; nullptr: all are there. What is not becomes zero.
  const SampleMask* mask_of(const SampleMask& there);

  StreamShape shape_;
  bool lost_are_masked_;
  std::size_t inputs_, group_bytes_;  ///< of a receiver, and of a group
  std::vector<Receiver> receivers_;
  std::vector<std::uint8_t> samples_;  ///< [time][input] words
  SampleMask mask_{0, 0};
};

}  // namespace rimetree::correlator
