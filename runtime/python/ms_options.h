// Options of a run over a Measurement Set, as `rimetree.ms.run_options` makes the dict of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/core/values/request.h"
#include "runtime/ms/runs/tile_run.h"
#include "runtime/ms/tiles/tile_reader.h"
#include "runtime/python/python.h"

namespace rimetree::python {

// Items of a dict; what is absent gives what is named or something empty.
double number_item(PyObject* dict, const char* key, double otherwise);
std::int64_t integer_item(PyObject* dict, const char* key, std::int64_t otherwise);
bool flag_item(PyObject* dict, const char* key);
std::string text_item(PyObject* dict, const char* key);
std::vector<double> doubles_item(PyObject* dict, const char* key);
std::vector<int> integers_item(PyObject* dict, const char* key);

ms::RowSelection rows_of(PyObject* options);
std::optional<ms::ChannelRange> channels_of(PyObject* options);
ms::ChannelChoice channel_choice_of(PyObject* options);
ms::SharedColumn shared_column_of(PyObject* options);
Precision precision_of(PyObject* options);
/// 0 where none is asked for.
double requested_tolerance(PyObject* options);

}  // namespace rimetree::python
