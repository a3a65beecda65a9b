// Arrays that Python sees without a copy: an object with the buffer protocol that keeps the C++ memory alive.
#pragma once

#include <memory>

#include "runtime/core/classes/state.h"
#include "runtime/core/values/result.h"
#include "runtime/python/python.h"

namespace rimetree::python {

/// Makes the type; call once when the module is made.
Ref make_array_type();

/// A read-only array of any rank over memory that `owner` keeps alive. `format` as in the struct module: d, Zd, i.
Ref make_array(std::shared_ptr<const void> owner, const void* data, std::vector<Py_ssize_t> shape, const char* format,
               std::size_t item_size);

/// Values as [tensor dimensions..., time, freq, l, m].
Ref make_array(const Vells& vells);
/// Flags as [planes, time, freq, l, m].
Ref make_array(const Flags& flags);
Ref make_array(const StateArray& array);
Ref make_array(const std::vector<double>& values);
Ref make_array(std::vector<std::uint8_t> values);

}  // namespace rimetree::python
