// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include "base/option_field.h"

namespace plumb {

/// When a block is copied from the device to the tiers.
enum class TierWritePolicy : unsigned char {
  kThrough,    ///< as soon as it is computed
  kSelective,  ///< when a second request uses it
  kBack,       ///< when it leaves the device
};

/// How long a request waits in the queue for blocks that lie on the disk.
enum class PrefetchPolicy : unsigned char {
  kBestEffort,  ///< not at all: it starts with what has come until then
  kWait,        ///< until all have come
  kTimeout,     ///< as kWait, but at most 1 s and 0.25 s for each 1024 tokens
};

/// What lies behind the KV cache.
struct TierOptions {
  std::int64_t host_bytes = 0;
  std::string disk_folder;
  std::int64_t disk_bytes = std::int64_t{8} << 30;
  TierWritePolicy write_policy = TierWritePolicy::kSelective;
  PrefetchPolicy prefetch_policy = PrefetchPolicy::kTimeout;

  static constexpr auto fields() {
    using S = TierOptions;
    return std::tuple{
        bytes_field(&S::host_bytes, "host-cache-bytes",
                    "memory for cached prefixes that leave the KV cache; 0 = none, or 512 MiB "
                    "with disk-cache-dir"),
        path_field(
            &S::disk_folder, "disk-cache-dir",
            "folder for cached prefixes, found again after a restart; it holds what users "
            "wrote, in a form that a model can read; one that cannot be made or read ends the "
            "start, one that another server uses is left to it; empty = none"),
        bytes_field(&S::disk_bytes, "disk-cache-bytes", "what disk-cache-dir may take"),
        choice_field(&S::write_policy, "tier-write-policy",
                     "copies a prefix to host memory and disk when it is computed, when a second "
                     "request uses it, or when it leaves the KV cache",
                     std::array{Choice<TierWritePolicy>{"through", TierWritePolicy::kThrough},
                                Choice<TierWritePolicy>{"selective", TierWritePolicy::kSelective},
                                Choice<TierWritePolicy>{"back", TierWritePolicy::kBack}}),
        choice_field(&S::prefetch_policy, "prefetch-policy",
                     "a request waits for its prefix from disk-cache-dir not at all, until it has "
                     "come, or the same for at most 1 s + 0.25 s per 1024 tokens",
                     std::array{Choice<PrefetchPolicy>{"best-effort", PrefetchPolicy::kBestEffort},
                                Choice<PrefetchPolicy>{"wait", PrefetchPolicy::kWait},
                                Choice<PrefetchPolicy>{"timeout", PrefetchPolicy::kTimeout}}),
    };
  }
};

}  // namespace plumb
