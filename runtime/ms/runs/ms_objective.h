// Chi-square or a likelihood of a whole Measurement Set: the sum over its tiles of what a node gives on each of them,
// with its gradient. Made for loops that ask for it again and again: data, and what of the models does not depend on
// the unknowns, stay in memory between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/evaluate/evaluator.h"
#include "runtime/ms/tiles/tile_stream.h"

namespace rimetree::ms {

class MsObjective {
 public:
  struct Options {
    RowSelection rows;  ///< time_slots = 0: chosen from the evaluator's memory budget
    std::optional<ChannelRange> channels;
    Precision precision = Precision::double_;
    double tolerance = 0;  ///< Request::tolerance
    /// For what is kept between calls: data, and results if there is room left; 0: half of the evaluator's budget.
    std::uint64_t memory_bytes = 0;
  };
  struct Outcome {
    double value = 0;
    Gradient gradient;        ///< with respect to all unknowns below the node; empty if it was not asked for
    std::size_t n_tiles = 0;  ///< that had data; without any there is no value
    bool has_good = false;    ///< whether any datum of these is not flagged, and has a weight
  };

  /// `root`: a ChiSquare or LogLikelihood of the evaluator's forest. Throws Error if it is something else, MsError for
  /// what the set cannot give. Reads no visibilities yet.
  MsObjective(std::unique_ptr<MeasurementSet> ms, Evaluator& evaluator, int root, const Options& options);

  /// At the present values of the unknowns; the evaluator is that of the constructor. Tiles are summed in a fixed
  /// order. Throws Error where a node failed, Cancelled.
  Outcome evaluate(Evaluator& evaluator, bool gradient, Cancellation* cancellation);

  const TileReader& reader() const { return *reader_; }
  /// Tiles in memory, and bytes that they take.
  std::size_t n_kept() const { return tiles_->n_kept(); }
  std::uint64_t kept_bytes() const { return tiles_->kept_bytes(); }
  /// Bytes of results of nodes in memory.
  std::uint64_t kept_result_bytes() const { return kept_result_bytes_; }

 private:
  void refuse_what_is_no_data(Evaluator& evaluator) const;
  void fit(Evaluator& evaluator);
  void add_tile(Evaluator& evaluator, Tile& tile, std::size_t index, bool gradient, Cancellation* cancellation,
                Outcome& outcome);
  void keep_results(const Forest& forest, std::size_t index, KeptResults results);

  std::unique_ptr<MeasurementSet> ms_;
  int root_;
  Options options_;
  std::unique_ptr<TileReader> reader_;
  std::unique_ptr<TileStream> tiles_;
  std::vector<std::uint64_t> data_id_;         // by tile
  std::vector<std::optional<bool>> has_good_;  // by tile; as of Outcome
  std::vector<KeptResults> results_;           // by tile
  std::uint64_t kept_result_bytes_ = 0;
  std::optional<bool> keeps_leaves_;
};

}  // namespace rimetree::ms
