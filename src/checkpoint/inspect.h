// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"

namespace plumb {

/// What `plumb model inspect` shows of a checkpoint: the same facts as JSON and as table rows.
struct Inspection {
  /// {"path","format","files","file_bytes","tensor_bytes","parameters","metadata":{…},
  ///  "types":{type: {"tensors","bytes"}},
  ///  "tensors":[{"name","type","shape","bytes","offset","file", "loadable"}]}; long metadata
  ///  arrays are {"type","length","first":[…]}.
  Json json;
  std::vector<std::vector<std::string>> summary;   ///< rows of (name, value)
  std::vector<std::vector<std::string>> metadata;  ///< rows of (key, value), long values cut
  std::vector<std::vector<std::string>> tensors;   ///< head row, then name, type, shape, bytes
};

/// Cost linear in tensors and metadata; reads headers only.
Inspection inspect(const Checkpoint& checkpoint);

/// Rows as text with aligned columns, one line a row.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace plumb
