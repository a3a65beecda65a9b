// The Solver sees the cells of all tiles, and their data part by part (RequestParts). What it keeps of a part are sums;
// those of blocks of cells that reach over several parts are added up, and while one part is looked at the next is
// read. Trees whose Jones terms are recognised are read once in a solve (for robust errors: in each iteration), others
// once in each iteration. A solve on one request is one of a single part.
#include "runtime/ms/runs/solve_tiles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "runtime/core/error.h"
#include "runtime/core/node/solver_node.h"
#include "runtime/ms/tiles/tile_request.h"

namespace rimetree::ms {

namespace {

/// Which cells of an axis those with these centres are, or are in the middle of.
std::vector<std::size_t> nearest(const std::vector<double>& axis, const std::vector<double>& centres) {
  std::vector<std::size_t> order(axis.size()), places;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&axis](std::size_t a, std::size_t b) { return axis[a] < axis[b]; });
  for (const double centre : centres) {
    auto at = std::lower_bound(order.begin(), order.end(), centre,
                               [&axis](std::size_t i, double value) { return axis[i] < value; });
    if (at == order.end() || (at != order.begin() && centre - axis[*(at - 1)] < axis[*at] - centre)) --at;
    places.push_back(*at);
  }
  return places;
}

/// Tiles as parts of one solve. Where baselines are averaged differently, or slots have rows of one twice, several
/// tiles are of the same slots: the whole then has the cells as they are stored, and no data.
class TileParts final : public RequestParts {
 public:
  TileParts(TileStream& tiles, std::vector<std::size_t> members, const SolveTilesOptions& options)
      : tiles_(tiles), members_(std::move(members)) {
    const bool alike = std::all_of(members_.begin(), members_.end(), [this](std::size_t i) {
      return tiles_.key(i).layer == 0 && tiles_.key(i).averaged == tiles_.key(members_.front()).averaged;
    });
    const Tile all = alike ? joined_alike() : joined_as_stored();
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
    if (size() == 1) return {whole_};
    tile_ = nullptr;  // makes room
    tile_ = tiles_.get(members_[index]);
    if (index + 1 < size()) tiles_.read_ahead(members_[index + 1]);
    RequestPart part{whole_, places_[index].first, places_[index].second};
    part.request.cells = cells_of(*tile_);
    part.request.tile = tile_.get();
    part.request.data_id = data_id_[index];
    return part;
  }

 private:
  static void require_together(bool together) {
    if (!together) throw MsError("tiles that are solved together must be of one field and spectral window, by time");
  }

  /// The axes of tiles that follow each other in time.
  Tile joined_alike() {
    Tile all = tiles_.outline(members_.front());
    places_.emplace_back();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Tile next = tiles_.outline(members_[i]);
      if (i > 0) {
        require_together(next.frequency_hz == all.frequency_hz && next.field_id == all.field_id &&
                         next.time_s.front() >= all.time_s.back());
        places_.emplace_back();
        all.time_s.insert(all.time_s.end(), next.time_s.begin(), next.time_s.end());
        all.interval_s.insert(all.interval_s.end(), next.interval_s.begin(), next.interval_s.end());
      }
      places_[i].first.resize(next.n_time());
      std::iota(places_[i].first.begin(), places_[i].first.end(), all.n_time() - next.n_time());
    }
    return all;
  }

  /// The time slots and channels, before averaging, that any of the tiles has.
  Tile joined_as_stored() {
    std::vector<std::pair<double, double>> slots;
    std::map<int, Tile> windows;
    for (const std::size_t member : members_)
      for (Tile& next : tiles_.stored_windows(member)) {
        require_together(next.field_id == tiles_.key(members_.front()).field_id);
        for (std::size_t t = 0; t < next.n_time(); ++t) slots.emplace_back(next.time_s[t], next.interval_s[t]);
        windows[next.data_desc_id] = std::move(next);
      }
    // Windows may be joined for some baselines, and be the only ones of others.
    require_together(windows.size() == 1 || tiles_.joins_windows());
    Tile all;
    for (const int id : tiles_.data_desc_ids()) {
      if (windows.count(id) == 0) continue;
      const Tile& window = windows[id];
      all.frequency_hz.insert(all.frequency_hz.end(), window.frequency_hz.begin(), window.frequency_hz.end());
      all.channel_width_hz.insert(all.channel_width_hz.end(), window.channel_width_hz.begin(),
                                  window.channel_width_hz.end());
    }
    std::sort(slots.begin(), slots.end());
    for (const auto& [time_s, interval_s] : slots) {
      // Means of the times of different rows of a slot differ by jitter.
      if (!all.time_s.empty() && time_s - all.time_s.back() <= slot_tolerance_s(interval_s)) continue;
      all.time_s.push_back(time_s);
      all.interval_s.push_back(interval_s);
    }
    for (const std::size_t member : members_) {
      const Tile own = tiles_.outline(member);
      places_.emplace_back(nearest(all.time_s, own.time_s), nearest(all.frequency_hz, own.frequency_hz));
    }
    return all;
  }

  TileStream& tiles_;
  std::vector<std::size_t> members_;
  std::vector<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> places_;  // in time and frequency
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
  if (tiles.size() == 0) return;
  std::vector<std::size_t> members(tiles.size());
  std::iota(members.begin(), members.end(), std::size_t{0});
  TileParts parts(tiles, std::move(members), options);
  try {
    solver.capabilities().solver->solve(evaluator, parts, cancellation);
  } catch (const MsError&) {
    throw;
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    report_failures({{solver.name(), solver.node_class().name, solver.origin(), error.what()}}, tiles.key(0));
  }
}

}  // namespace rimetree::ms
