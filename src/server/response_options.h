// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>

#include "base/option_field.h"

namespace plumb {

/// What becomes of the tools and items in /v1/responses that only a hosted API could run.
enum class HostedUse : unsigned char {
  kIgnore,  ///< they are left out and named in a header
  kReject,
};

/// How the Responses API keeps responses and what it takes.
struct ResponseOptions {
  std::string store = "memory";
  std::int64_t store_entries = 10'000;
  std::int64_t store_bytes = std::int64_t{1} << 30;
  std::chrono::milliseconds store_ttl{std::chrono::hours(24)};
  HostedUse hosted_tools = HostedUse::kIgnore;
  HostedUse hosted_items = HostedUse::kIgnore;
  bool reasoning_as_summary = true;
  std::string reasoning_key_file;

  static constexpr auto fields() {
    using S = ResponseOptions;
    return std::tuple{
        path_field(&S::store, "response-store",
                   "where responses of /v1/responses are kept: memory, off, or this file"),
        field(&S::store_entries, "response-store-entries",
              "responses that are kept; the least recently used give way", 1, 100'000'000),
        bytes_field(&S::store_bytes, "response-store-bytes", "bytes of kept responses", 1 << 20),
        field(&S::store_ttl, "response-store-ttl", "how long responses are kept", 1, 31'536'000),
        choice_field(&S::hosted_tools, "hosted-tools",
                     "tools of /v1/responses that only a hosted API could run: left out and named "
                     "in a header, or refused",
                     std::array{Choice<HostedUse>{"ignore", HostedUse::kIgnore},
                                Choice<HostedUse>{"reject", HostedUse::kReject}}),
        choice_field(&S::hosted_items, "hosted-items", "the same for items of the input",
                     std::array{Choice<HostedUse>{"ignore", HostedUse::kIgnore},
                                Choice<HostedUse>{"reject", HostedUse::kReject}}),
        field(&S::reasoning_as_summary, "reasoning-as-summary",
              "where /v1/responses asks for a summary of the reasoning, tell the reasoning itself"),
        path_field(&S::reasoning_key_file, "reasoning-key-file",
                   "file (mode 0600) with a secret that seals encrypted reasoning; default: a new "
                   "one at each start"),
    };
  }
};

}  // namespace plumb
