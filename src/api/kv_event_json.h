// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "request/kv_event.h"

namespace plumb {

/// A batch as readers of the cache events get it: an array of the time (Unix seconds), the events
/// and the rank of the engine (0).
///
/// An event is an array that begins with its name:
///   ["BlockStored", block_hashes, parent_block_hash or null, token_ids, block_size, lora_id
///   (null),
///    medium]
///   ["BlockRemoved", block_hashes, medium]
///   ["AllBlocksCleared"]
/// Hashes are 32 hexadecimal digits.
Json to_json(const KvEventBatch& batch);

/// What a reader gets in place of batches that are not kept any more: forget everything.
Json kv_resync_json(std::chrono::system_clock::time_point at);

}  // namespace plumb
