#include "runtime/ms/set/spare_arrays.h"

#include <utility>

namespace rimetree::ms {

template <class T>
void SpareArrays::keep(std::vector<T> array, std::vector<std::vector<T>>* to) {
  const std::size_t bytes = array.capacity() * sizeof(T);
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes_ + bytes > most_bytes_) return;
  bytes_ += bytes;
  to->push_back(std::move(array));
}

template <class T>
std::vector<T> SpareArrays::take(std::vector<std::vector<T>>* from) {
  const std::lock_guard lock(mutex_);
  if (from->empty()) return {};
  std::vector<T> array = std::move(from->back());
  from->pop_back();
  bytes_ -= array.capacity() * sizeof(T);
  return array;
}

void SpareArrays::keep_up_to(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  most_bytes_ = bytes;
  if (bytes_ <= bytes) return;
  columns_.clear(), flags_.clear(), weights_.clear();
  bytes_ = 0;
}

std::vector<std::complex<float>> SpareArrays::column() { return take(&columns_); }

void SpareArrays::lend(const std::vector<std::string>& columns, bool flags, bool weights, Tile* tile) {
  for (const std::string& name : columns) tile->columns[name] = take(&columns_);
  if (flags) tile->flag = take(&flags_);
  if (weights) tile->weight = take(&weights_);
}

void SpareArrays::take_back(Tile* tile) {
  for (auto& [name, values] : tile->columns) keep(std::exchange(values, {}), &columns_);
  keep(std::exchange(tile->flag, {}), &flags_);
  keep(std::exchange(tile->weight, {}), &weights_);
}

std::shared_ptr<Tile> SpareArrays::hold(Tile tile) {
  return {new Tile(std::move(tile)), [spare = shared_from_this()](Tile* held) {
            spare->take_back(held);
            delete held;
          }};
}

}  // namespace rimetree::ms
