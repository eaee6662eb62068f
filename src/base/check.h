// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// Where a check stands (std::source_location does not work under clang 14).
struct Loc {
  const char* file;
  int line;

  static constexpr Loc here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// Prints the expression, the detail and the scope trace of this thread, then aborts. Only a bug
/// gets here.
[[noreturn]] void check_failed(std::string_view expr, const std::string& detail,
                               Loc at = Loc::here());

/// One entry of this thread's scope trace, shown by check_failed; costs two stores.
/// Requires name outlives the scope (a literal).
class Scope {
 public:
  explicit Scope(const char* name, long long index = -1);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// The scope trace of this thread, outermost first: "step 12 > layer 3 > attention".
std::string scope_trace();

}  // namespace plumb

/// Stops the process if cond is false: for what only a bug can cause, never for input.
#define PLUMB_CHECK(cond, detail)             \
  do {                                        \
    if (!(cond)) [[unlikely]] {               \
      ::plumb::check_failed(#cond, (detail)); \
    }                                         \
  } while (0)

#ifdef NDEBUG
#define PLUMB_DCHECK(cond, detail) \
  do {                             \
  } while (0)
#else
#define PLUMB_DCHECK(cond, detail) PLUMB_CHECK(cond, detail)
#endif

#define PLUMB_SCOPE_CAT_(a, b) a##b
#define PLUMB_SCOPE_CAT(a, b) PLUMB_SCOPE_CAT_(a, b)
/// PLUMB_SCOPE("layer", i): names what this thread is doing until the end of the block.
#define PLUMB_SCOPE(...) const ::plumb::Scope PLUMB_SCOPE_CAT(plumb_scope_, __LINE__)(__VA_ARGS__)
