#include "nodes/psv/matrix/sides_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "nodes/psv/plane_shares.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::matrix {
namespace {

/// Part of the tolerance that antennas' places may use up: the rounding errors of UVW are more than those of the sums.
constexpr double kPlaceShare = 0.75;
/// Radians across a channel beyond which its phase is not known well enough from a path in double precision.
constexpr double kLargestTurn = 64;
/// Radians over a cell below which the mean over it is not to be told from its middle: sinc(x/2) is 1 within x^2/24.
constexpr double kNoSmear = 1e-8;
/// What rounding leaves.
constexpr double kRounding = 1e-13;
/// Cells that layers with few channels are put together for.
constexpr std::size_t kSlabCells = 16;

/// The real planes of Hermitian brightness, those that some source needs; none if it is not Hermitian.
std::vector<Plane> planes_of(const Sky<double>& sky) {
  bool used[4] = {};
  for (const double* b = sky.brightness.data(); b != sky.brightness.data() + sky.brightness.size(); b += 8) {
    if (!(b[1] == 0 && b[7] == 0 && b[2] == b[4] && b[3] == -b[5])) return {};
    used[0] |= b[0] + b[6] != 0;
    used[1] |= b[0] != b[6];
    used[2] |= b[2] != 0;
    used[3] |= b[3] != 0;
  }
  std::vector<Plane> planes, others;
  for (int i = 0; i < 4; ++i) (used[i] ? planes : others).push_back(static_cast<Plane>(i));
  for (std::size_t i = 0; planes.empty() || planes.size() == 3; ++i) planes.push_back(others[i]);
  return planes;
}

std::vector<double> weights_of(const Sky<double>& sky, const std::vector<Plane>& planes) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < sky.brightness.size(); i += 8)
    for (const Plane plane : planes) weights.push_back(plane_weight(plane, &sky.brightness[i]));
  return weights;
}

/// Whether the matrices are diagonal at some places of the terms.
bool look_diagonal(const std::vector<JonesChains::Chain>& chains, std::size_t n_source) {
  constexpr std::size_t kPlaces = 3;
  for (const JonesChains::Chain& chain : chains)
    for (const JonesFactor& one : chain)
      for (std::size_t i = 0; one.is_matrix && i < std::min(kPlaces, n_source); ++i) {
        const Jones<double> j = jones_of(one, i * (n_source - 1) / kPlaces, 0, 0);
        if (j.xy != Complex<double>() || j.yx != Complex<double>()) return false;
      }
  return true;
}

bool any_moves(const JonesChains::OfSide& side) {
  return std::any_of(side.chains.begin(), side.chains.end(), [](const JonesChains::Chain& chain) {
    return std::any_of(chain.begin(), chain.end(), [](const JonesFactor& one) { return one.moves(); });
  });
}

SidesShape shape_of(const Sky<double>& sky, const JonesChains& jones, bool elements) {
  const auto any_matrix = [](const std::vector<JonesChains::Chain>& chains) {
    return std::any_of(chains.begin(), chains.end(), [](const JonesChains::Chain& chain) {
      return std::any_of(chain.begin(), chain.end(), [](const JonesFactor& one) { return one.is_matrix; });
    });
  };
  SidesShape shape;
  shape.left_matrix = any_matrix(jones.left.chains);
  shape.right_matrix = any_matrix(jones.right.chains);
  const std::vector<Plane> planes = planes_of(sky);
  shape.unpolarised = planes == std::vector<Plane>{Plane::kI};
  shape.diagonal_brightness =
      !planes.empty() && std::all_of(planes.begin(), planes.end(), [](Plane p) { return p <= Plane::kQ; });
  shape.looks_diagonal =
      look_diagonal(jones.left.chains, sky.n_source) && look_diagonal(jones.right.chains, sky.n_source);
  if (shape.left_has_elements() || elements) return shape;
  shape.planes = planes;
  shape.weights = weights_of(sky, planes);
  return shape;
}

/// Numbers of ends, those of the left before those of the right, that rows join, directly or through others.
std::vector<std::int32_t> joined_ends(const NumberedEnds& left, const NumberedEnds& right) {
  const auto n_left = static_cast<std::int32_t>(left.ends.size());
  std::vector<std::int32_t> parent(left.ends.size() + right.ends.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root_of = [&parent](std::int32_t i) {
    while (parent[static_cast<std::size_t>(i)] != i) {
      std::int32_t& up = parent[static_cast<std::size_t>(i)];
      i = up = parent[static_cast<std::size_t>(up)];
    }
    return i;
  };
  for (std::size_t b = 0; b < left.of_baseline.size(); ++b)
    parent[static_cast<std::size_t>(root_of(left.of_baseline[b]))] = root_of(n_left + right.of_baseline[b]);
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = root_of(static_cast<std::int32_t>(i));
  return parent;
}
/// Renumbers ends so that those which rows join stand together: others share no tiles' blocks with them.
void bring_together(const std::int32_t* joined, NumberedEnds& side) {
  std::vector<std::int32_t> order(side.ends.size()), number(side.ends.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [joined](std::int32_t a, std::int32_t b) { return joined[a] < joined[b]; });
  std::vector<AntennaEnd> ends;
  for (std::size_t i = 0; i < order.size(); ++i) {
    number[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    ends.push_back(side.ends[static_cast<std::size_t>(order[i])]);
  }
  side.ends = std::move(ends);
  for (std::int32_t& end : side.of_baseline) end = number[static_cast<std::size_t>(end)];
}

/// A row of a slab of layers, as an entry between ends.
struct Entry {
  std::int32_t layer, left, right, row;
};

/// The ends of a tile that have rows, by antenna, and their numbers in it.
std::vector<AntennaEnd> own_ends(const std::vector<Entry>& entries, std::int32_t Entry::*side, const NumberedEnds& all,
                                 std::vector<std::int32_t>& antennas, std::map<std::int32_t, std::int32_t>& numbers) {
  for (const Entry& e : entries) numbers[e.*side] = 0;
  std::vector<AntennaEnd> own;
  for (auto& [end, index] : numbers) {
    index = static_cast<std::int32_t>(own.size());
    const auto& [antenna, chain] = all.ends[static_cast<std::size_t>(end)];
    auto at = std::find(antennas.begin(), antennas.end(), antenna);
    if (at == antennas.end()) at = antennas.insert(at, antenna);
    own.push_back({static_cast<std::int32_t>(at - antennas.begin()), chain});
  }
  return own;
}

void find_blocks(const SidesShape& shape, SidesTile& tile) {
  const std::size_t rows = shape.block_rows(), columns = SidesShape::kBlockColumns;
  const auto whole = [](std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; };
  tile.n_left = whole(tile.left.size(), rows), tile.n_right = whole(tile.right.size(), columns);
  std::vector<char> needed(tile.n_left * tile.n_right, 0);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(tile.n_layer); ++layer)
    for (std::size_t l = 0; l < tile.left.size(); ++l)
      for (std::size_t r = 0; r < tile.right.size(); ++r)
        if (tile.row_at(layer, l, r) >= 0) needed[l / rows * rows * tile.n_right + r / columns * columns] = 1;
  for (std::size_t near = 0; near < tile.n_right; near += shape.near_ends())
    for (std::size_t l = 0; l < tile.n_left; l += rows)
      for (std::size_t r = near; r < std::min(near + shape.near_ends(), tile.n_right); r += columns)
        if (needed[l * tile.n_right + r]) tile.blocks.emplace_back(std::uint8_t(l), std::uint8_t(r));
}

/// A tile of entries of one slab; those whose place another has taken are left.
std::vector<Entry> make_tile(const std::vector<Entry>& entries, std::int32_t first_layer, std::int32_t n_layer,
                             const NumberedEnds& left, const NumberedEnds& right, SidesPlan& plan) {
  SidesTile tile;
  tile.first_layer = first_layer, tile.n_layer = n_layer;
  std::map<std::int32_t, std::int32_t> left_number, right_number;
  tile.left = own_ends(entries, &Entry::left, left, tile.antenna, left_number);
  tile.right = own_ends(entries, &Entry::right, right, tile.antenna, right_number);
  tile.row.assign(static_cast<std::size_t>(n_layer) * tile.left.size() * tile.right.size(), -1);
  std::vector<Entry> others;
  for (const Entry& e : entries) {
    const auto layer = static_cast<std::size_t>(e.layer - first_layer),
               l = static_cast<std::size_t>(left_number.at(e.left)),
               r = static_cast<std::size_t>(right_number.at(e.right));
    std::int32_t& place = tile.row[(layer * tile.left.size() + l) * tile.right.size() + r];
    if (place >= 0)
      others.push_back(e);
    else
      place = e.row;
  }
  find_blocks(plan.shape, tile);
  plan.tiles.push_back(std::move(tile));
  return others;
}

void cut_into_tiles(const Summed& of, SidesPlan& plan) {
  const std::size_t n_channel = of.channels.frequency_hz.size();
  NumberedEnds left = number_ends(of.rows, plan.antennas, false, plan.jones.left.of_baseline),
               right = number_ends(of.rows, plan.antennas, true, plan.jones.right.of_baseline);
  const std::vector<std::int32_t> joined = joined_ends(left, right);
  bring_together(joined.data(), left);
  bring_together(joined.data() + left.ends.size(), right);
  const auto n_layer = static_cast<std::int32_t>(plan.antennas.layers.size());
  const auto slab =
      static_cast<std::int32_t>(std::max<std::size_t>(kSlabCells / std::max<std::size_t>(n_channel, 1), 1));
  std::size_t i = 0;
  for (std::int32_t first = 0; first < n_layer; first += slab) {
    const std::int32_t last = std::min(first + slab, n_layer);
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Entry>> tiles;
    for (const std::size_t end = plan.antennas.layer_end[static_cast<std::size_t>(last) - 1]; i < end; ++i) {
      const std::size_t r = plan.antennas.by_layer[i];
      const auto b = static_cast<std::size_t>(of.rows.baseline[r]);
      const Entry e{plan.antennas.rows[r].layer, left.of_baseline[b], right.of_baseline[b],
                    static_cast<std::int32_t>(r)};
      tiles[{e.left / kTileEnds, e.right / kTileEnds}].push_back(e);
    }
    for (auto& [unused, entries] : tiles)
      while (!entries.empty()) entries = make_tile(entries, first, last - first, left, right, plan);
  }
}

}  // namespace

SidesWork work_of(const SidesPlan& plan, const Channels& channels) {
  const std::size_t lanes = rows_per_block<double>();
  SidesWork work;
  for (const SidesTile& tile : plan.tiles) {
    const double cells = double((plan.cells(tile, channels) + lanes - 1) / lanes * lanes);
    work.pair_cells += cells * double(tile.blocks.size() * plan.shape.block_rows() * SidesShape::kBlockColumns);
    work.end_cells += cells * double(tile.left.size() + tile.right.size());
    work.antenna_cells += cells * double(tile.antenna.size());
  }
  return work;
}

SidesPlan sides_plan(const Summed& of, double tolerance, ThreadPool& threads, bool elements) {
  SidesPlan plan;
  if (of.jones.n_pair == 0) {
    plan.obstacle = "there are no Jones terms";
    return plan;
  }
  const Rows& rows = of.rows;
  const SmearingLimits limits = largest_phase_change(of.sky.extent, of.channels, rows);
  plan.smear_time = rows.is_smeared_in_time() && limits.time_rad > kNoSmear;
  plan.smear_frequency = rows.is_smeared_in_frequency() && limits.frequency_rad > kNoSmear;
  if (plan.smear_frequency && 0.5 * limits.frequency_rad > kLargestTurn) {
    plan.obstacle = "phases change too much across a channel";
    return plan;
  }
  const double wave_number = 2 * kPi * of.channels.highest_hz / kSpeedOfLight_m_s;
  const double limit_m = wave_number > 0 ? kPlaceShare * tolerance / wave_number : 0;
  // Smearing takes the rates of the rows themselves.
  Rows places = rows;
  places.du = places.dv = places.dw = nullptr;
  plan.antennas = antenna_plan(places, of.ends, of.sky.extent, limit_m, false, threads);
  plan.obstacle = plan.antennas.obstacle;
  if (!plan.obstacle.empty()) return plan;
  plan.bound = kRounding + wave_number * plan.antennas.misfit_m;
  plan.jones = jones_chains(of.jones, rows, of.channels.frequency_hz.size());
  plan.left_moves = any_moves(plan.jones.left), plan.right_moves = any_moves(plan.jones.right);
  plan.shape = shape_of(of.sky, plan.jones, elements);
  cut_into_tiles(of, plan);
  return plan;
}

}  // namespace rimetree::psv::matrix
