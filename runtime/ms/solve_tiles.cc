// The Solver sees the cells of all tiles, and their data part by part (RequestParts). What it keeps of a part are sums;
// those of blocks of cells that reach over several parts are added up, and while one part is looked at the next is
// read. Trees whose Jones terms are recognised are read once in a solve (for robust errors: in each iteration), others
// once in each iteration. A solve on one request is one of a single part.
#include "runtime/ms/solve_tiles.h"

#include <functional>
#include <map>

#include "runtime/core/error.h"
#include "runtime/core/solver_node.h"
#include "runtime/ms/tile_request.h"

namespace rimetree::ms {

namespace {

/// Tiles of one layer as parts of one solve.
class TileParts final : public RequestParts {
 public:
  TileParts(TileStream& tiles, std::vector<std::size_t> members, const SolveTilesOptions& options)
      : tiles_(tiles), members_(std::move(members)) {
    Tile all = tiles_.outline(members_.front());
    first_time_.push_back(0);
    for (std::size_t i = 1; i < members_.size(); ++i) {
      const Tile next = tiles_.outline(members_[i]);
      if (next.frequency_hz != all.frequency_hz || next.field_id != all.field_id || next.time_s < all.time_s)
        throw MsError("tiles that are solved together must be of one field and spectral window, by time");
      first_time_.push_back(all.n_time());
      all.time_s.insert(all.time_s.end(), next.time_s.begin(), next.time_s.end());
      all.interval_s.insert(all.interval_s.end(), next.interval_s.begin(), next.interval_s.end());
    }
    whole_.cells = cells_of(all);
    whole_.precision = options.precision;
    whole_.tolerance = options.tolerance;
    for (std::size_t i = 0; i < members_.size(); ++i) data_id_.push_back(next_data_id());
    whole_.data_id = data_id_.front();
    if (members_.size() == 1) {
      tile_ = tiles_.get(members_.front());
      whole_.tile = tile_.get();
    }
  }

  const Request& whole() const override { return whole_; }
  std::size_t size() const override { return members_.size(); }
  RequestPart part(std::size_t index) override {
    if (size() == 1) return {whole_, 0};
    tile_ = nullptr;  // makes room
    tile_ = tiles_.get(members_[index]);
    if (index + 1 < size()) tiles_.read_ahead(members_[index + 1]);
    RequestPart part{whole_, first_time_[index]};
    part.request.cells = cells_of(*tile_);
    part.request.tile = tile_.get();
    part.request.data_id = data_id_[index];
    return part;
  }

 private:
  TileStream& tiles_;
  std::vector<std::size_t> members_, first_time_;
  std::vector<std::uint64_t> data_id_;
  Request whole_;
  std::shared_ptr<Tile> tile_;
};

const Node& solver_of(const Forest& forest) {
  std::vector<const Node*> found;
  for (std::size_t i = 0; i < forest.size(); ++i)
    if (const Node& node = forest.node(static_cast<int>(i)); node.capabilities().solver != nullptr)
      found.push_back(&node);
  if (found.size() != 1)
    throw Error("tiles are solved by the Solver of a forest; this one has " + std::to_string(found.size()) +
                (found.empty() ? "" : ", \"" + found[0]->name() + "\" and others"));
  return *found.front();
}

}  // namespace

void solve_tiles(TileStream& tiles, Evaluator& evaluator, const SolveTilesOptions& options,
                 Cancellation& cancellation) {
  evaluator.update_plan();
  const Node& solver = solver_of(evaluator.forest());
  std::map<int, std::vector<std::size_t>, std::greater<>> layers;
  for (std::size_t i = 0; i < tiles.size(); ++i) layers[tiles.key(i).layer].push_back(i);
  for (auto& [layer, members] : layers) {
    const TileKey& key = tiles.key(members.front());
    TileParts parts(tiles, std::move(members), options);
    try {
      solver.capabilities().solver->solve(evaluator, parts, cancellation);
    } catch (const MsError&) {
      throw;
    } catch (const Error& error) {
      report_failures({{solver.name(), solver.node_class().name, solver.origin(), error.what()}}, key);
    }
  }
}

}  // namespace rimetree::ms
