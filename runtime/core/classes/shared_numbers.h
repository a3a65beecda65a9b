// SharedNumbers that do not change, shared by all who hold them: an array that a script gives is copied once, from
// NumPy's memory, and is then the state of a node, its result and what Python sees of it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

namespace rimetree {

class SharedNumbers {
 public:
  SharedNumbers() = default;
  SharedNumbers(const double* first, const double* last);
  SharedNumbers(std::initializer_list<double> values) : SharedNumbers(values.begin(), values.end()) {}
  SharedNumbers(const std::vector<double>& values) : SharedNumbers(values.data(), values.data() + values.size()) {}

  std::size_t size() const { return size_; }
  const double* data() const { return data_.get(); }
  const double* begin() const { return data(); }
  const double* end() const { return data() + size_; }
  double operator[](std::size_t i) const { return data_.get()[i]; }
  std::vector<double> vector() const { return {begin(), end()}; }
  /// Of the values; not-a-number equals nothing.
  friend bool operator==(const SharedNumbers& a, const SharedNumbers& b);

  /// The memory, for those who keep it alive without copying.
  const std::shared_ptr<const double>& storage() const { return data_; }

 private:
  std::shared_ptr<const double> data_;
  std::size_t size_ = 0;
};

}  // namespace rimetree
