// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

namespace plumb {

std::string_view to_text(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kNotFound:
      return "not_found";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kResourceExhausted:
      return "resource_exhausted";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDeadlineExceeded:
      return "deadline_exceeded";
    case Code::kCancelled:
      return "cancelled";
    case Code::kDataLoss:
      return "data_loss";
    case Code::kDeviceLost:
      return "device_lost";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace plumb
