// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/options.h"

namespace {

struct FuzzOptions {
  std::int32_t integer = 1;
  double number = 0;
  bool flag = false;
  std::string text;
  std::vector<std::string> list;
  std::chrono::milliseconds time{1};
  std::int64_t bytes = 0;

  static constexpr auto fields() {
    using S = FuzzOptions;
    return std::tuple{plumb::field(&S::integer, "integer", "", 1, 1000),
                      plumb::field(&S::number, "number", "", -1, 1),
                      plumb::field(&S::flag, "flag", ""),
                      plumb::field(&S::text, "text", ""),
                      plumb::field(&S::list, "list", ""),
                      plumb::field(&S::time, "time", "", 0, 3600),
                      plumb::bytes_field(&S::bytes, "bytes", "")};
  }
};

}  // namespace

// Whatever the text, the options keep values that pass their own checks.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  FuzzOptions options;
  const std::vector<plumb::BoundOption> bound = plumb::bind_options(options);
  for (const plumb::BoundOption& option : bound) {
    static_cast<void>(plumb::set_from_text(option, text, "--" + option.flag));
  }
  const plumb::Result<plumb::Json> json = plumb::parse_json(text);
  if (json.ok() && json.value().is_object()) {
    static_cast<void>(plumb::set_from_json(bound, json.value().as_object()));
  }
  const std::vector<plumb::Status> violations = plumb::validate_options(bound);
  PLUMB_CHECK(violations.empty(), plumb::join_violations(violations).message());
  return 0;
}
