// SPDX-License-Identifier: Apache-2.0
#include "kvcache/block_digest.h"

#include <algorithm>
#include <bit>

namespace plumb {

static_assert(std::endian::native == std::endian::little && sizeof(TokenId) == 4,
              "the chain is defined over little-endian tokens of 32 bits");

Digest256 chained_digest(std::string_view before, std::span<const TokenId> tokens) {
  Sha256 digest;
  digest.update(before);
  digest.update(std::as_bytes(tokens));
  return digest.finish();
}

Digest256 chained_digest(const Digest256& before, std::span<const TokenId> tokens) {
  return chained_digest({reinterpret_cast<const char*>(before.data()), before.size()}, tokens);
}

BlockHash block_hash(const Digest256& digest) {
  BlockHash hash{};
  std::copy_n(digest.begin(), hash.size(), hash.begin());
  return hash;
}

}  // namespace plumb
