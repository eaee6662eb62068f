// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "base/digest.h"
#include "base/token_id.h"
#include "request/kv_event.h"

namespace plumb {

/// The next link of the hash chain of a prompt: SHA-256 of what comes before, then the block's
/// tokens as u32 little-endian.
///
/// What comes before is the whole digest of the block before. For the first block it is the
/// namespace (16 bytes, request/cache_namespace.h); the empty namespace gives the plain chain that
/// other engines use.
Digest256 chained_digest(std::string_view before, std::span<const TokenId> tokens);
Digest256 chained_digest(const Digest256& before, std::span<const TokenId> tokens);

/// The name by which a block is spoken of: the first 16 bytes of its digest.
BlockHash block_hash(const Digest256& digest);

}  // namespace plumb
