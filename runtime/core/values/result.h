// What a node gives for a request: values with flags and derivatives, or the statement that there is nothing, or why
// it failed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/core/values/vells.h"

namespace rimetree {

/// A solvable coefficient: a Parm node's index in the forest and the number of the coefficient within it. It is that of
/// one solution tile, or of the one that the cell is in: then one derivative is with respect to the unknowns of all
/// tiles, each on its own cells. Above a node that mixes cells (NodeTraits::mixed_axes) there is one for each tile.
struct ParameterId {
  std::int32_t parm = 0;
  std::int32_t coefficient = 0;
  std::int32_t time_tile = -1, frequency_tile = -1;  ///< along each axis; -1: the cell's
  friend auto operator<=>(const ParameterId&, const ParameterId&) = default;
};
/// Tells parameters from each other.
std::uint64_t fingerprint(const ParameterId& parameter);

/// d(value)/d(parameter), of the dimensions and type of the value; its cells may be fewer.
struct Derivative {
  ParameterId parameter;
  Vells value;
};

/// Bit masks per cell, 0 where the datum is good. One plane for all elements of the tensor, or one for each.
class Flags {
 public:
  Flags() = default;
  /// Zeroed flags; `planes` is 1 or the number of tensor elements.
  Flags(memory::Pool& pool, std::size_t planes, const CellShape& cells);
  bool empty() const { return data_ == nullptr; }
  std::size_t planes() const { return planes_; }
  const CellShape& cells() const { return cells_; }
  std::size_t size() const { return planes_ * cells_.size(); }
  const std::int32_t* data() const { return static_cast<const std::int32_t*>(data_.get()); }
  std::int32_t* data() { return static_cast<std::int32_t*>(data_.get()); }
  /// Plane of a tensor element.
  const std::int32_t* plane(std::size_t element) const { return data() + (planes_ == 1 ? 0 : element) * cells_.size(); }
  const std::shared_ptr<void>& storage() const { return data_; }

 private:
  std::shared_ptr<void> data_;
  std::size_t planes_ = 0;
  CellShape cells_;
};

/// Elements of a tensor (of its first 64) that are 0 on all cells by how a tree is written, as those off the diagonal
/// of Matrix22(g, 0, 0, g): bit e is element e.
using ZeroElements = std::uint64_t;
inline ZeroElements first_elements(std::size_t count) {
  return count < 64 ? (ZeroElements{1} << count) - 1 : ~ZeroElements{0};
}

/// Why a node has no result, with the place in the user's script that made the node.
struct Failure {
  std::string node;
  std::string node_class;
  std::string origin;  ///< "file:line"
  std::string message;
};

class Result {
 public:
  enum class Status : std::uint8_t { ok, missing, failed };

  Status status = Status::missing;
  Vells value;
  Flags flags;                          ///< empty: nothing is flagged
  ZeroElements zeros = 0;               ///< what these are multiplied with does not count, nor do its flags
  Vells weight;                         ///< of a residual (Condeq): real, 1/variance of each real part; empty: 1
  std::vector<Derivative> derivatives;  ///< ascending by parameter; only those on which the value depends
  std::vector<Failure> failures;
  int node = -1;  ///< whose result it is
  std::uint64_t stamp =
      0;  ///< what it was made from (runtime/evaluate/evaluator.cc): tells it from others of the node; 0: nothing

  bool ok() const { return status == Status::ok; }
  /// The derivative with respect to a parameter, nullptr if the value does not depend on it.
  const Vells* derivative(ParameterId parameter) const;
};
using ResultPtr = std::shared_ptr<const Result>;

}  // namespace rimetree
