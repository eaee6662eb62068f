// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace plumb {
namespace {

struct ScopeEntry {
  const char* name;
  long long index;
};

constexpr std::size_t kMaxScopes = 32;

// Per-thread diagnostic state only; deeper scopes than kMaxScopes are counted but not named.
struct ScopeStack {
  std::array<ScopeEntry, kMaxScopes> entries;
  std::size_t depth = 0;
};

thread_local ScopeStack
    scopes;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): scope trace

}  // namespace

Scope::Scope(const char* name, long long index) {
  if (scopes.depth < kMaxScopes) {
    scopes.entries[scopes.depth] = {name, index};
  }
  ++scopes.depth;
}

Scope::~Scope() {
  --scopes.depth;
}

std::string scope_trace() {
  std::string text;
  for (std::size_t i = 0; i < scopes.depth && i < kMaxScopes; ++i) {
    if (i > 0) {
      text += " > ";
    }
    text += scopes.entries[i].name;
    if (scopes.entries[i].index >= 0) {
      text += " " + std::to_string(scopes.entries[i].index);
    }
  }
  return text;
}

void check_failed(std::string_view expr, const std::string& detail, Loc at) {
  const std::string trace = scope_trace();
  std::fprintf(stderr, "plumb: check failed: %.*s\n  %s\n  at %s:%d\n",
               static_cast<int>(expr.size()), expr.data(), detail.c_str(), at.file, at.line);
  if (!trace.empty()) {
    std::fprintf(stderr, "  in %s\n", trace.c_str());
  }
  std::abort();
}

}  // namespace plumb
