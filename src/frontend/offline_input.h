// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/chat_request.h"
#include "api/completion_request.h"
#include "api/error.h"
#include "base/status.h"

namespace plumb {

/// How a line is written, and so how its result is.
enum class OfflineFormat : unsigned char {
  kPlain,        ///< {"id": …, "prompt": … | "messages": …, parameters}
  kOpenAiBatch,  ///< {"custom_id": …, "method": "POST", "url": …, "body": {…}}
};

/// One line of an input file.
struct OfflineItem {
  std::string id;
  std::int64_t line = 0;  ///< from 1
  OfflineFormat format = OfflineFormat::kPlain;
  std::variant<ChatRequest, CompletionRequest, ApiError> request;
  std::vector<std::string>
      ignored_fields;  ///< unknown names, of a request that is none the less run
};

/// Reads one line; whatever is wrong with it becomes the item's error. A line without an id gets
/// "line-N".
OfflineItem read_offline_item(std::string_view text, std::int64_t line,
                              const SamplingDefaults& defaults, const ApiLimits& limits);

/// The items of a whole file. A last line without a line end that is not valid JSON was cut off: it
/// is left out and `torn_line` says which one; blank lines are skipped.
struct OfflineInput {
  std::vector<OfflineItem> items;
  std::int64_t torn_line = 0;
  std::map<std::string, std::int64_t> ignored_fields;  ///< name to number of lines
};

/// Errors kInvalidArgument: an id that occurs twice (both lines named), no line at all.
Result<OfflineInput> read_offline_input(std::string_view content, const SamplingDefaults& defaults,
                                        const ApiLimits& limits);

}  // namespace plumb
