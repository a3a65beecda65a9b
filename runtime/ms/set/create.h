// Creates Measurement Sets.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/ms/tables/error.h"
#include "runtime/ms/tables/ms_description.h"

namespace rimetree::ms {

/// Creates a complete version 2 Measurement Set: no flags, weights and sigmas 1. It is built beside its place in
/// `<path>.partial` and renamed when complete, so that it appears whole or not at all. Throws MsError if the
/// description is inconsistent, if something exists at the path (unless `overwrite`), if another process is creating
/// it, or if writing fails.
void create(const std::string& path, const MsDescription& description);

/// Bytes on disk that create() will use, within a few per cent.
std::uint64_t created_bytes(const MsDescription& description);

}  // namespace rimetree::ms
