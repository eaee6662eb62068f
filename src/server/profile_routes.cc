// SPDX-License-Identifier: Apache-2.0
#include "server/profile_routes.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/log.h"

namespace plumb {
namespace {

constexpr std::int64_t kMostProfileSteps = 100'000;
constexpr std::chrono::milliseconds kProfilePause{20};

// A folder below another one, by names alone.
bool is_plain_path(std::string_view path) {
  return path.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") ==
             std::string_view::npos &&
         !path.starts_with('/') && path.find("..") == std::string_view::npos;
}

}  // namespace

void ProfileRoutes::add_routes() {
  context_.operation_route("/start_profile", RouteClass::kAdminOptional,
                           std::bind_front(&ProfileRoutes::start_profile, this));
  context_.operation_route("/stop_profile", RouteClass::kAdminOptional,
                           std::bind_front(&ProfileRoutes::stop_profile, this));
}

void ProfileRoutes::start_profile(FieldReader& fields, Transaction transaction) {
  const std::string folder = fields.text("output_dir").value_or("");
  const std::int64_t num_steps = fields.integer("num_steps", 1, kMostProfileSteps).value_or(0);
  if (const JsonArray* activities = fields.array("activities", 8)) {
    if (!std::all_of(activities->begin(), activities->end(),
                     [](const Json& name) { return name == Json("CPU"); })) {
      fields.fail(ApiError::unsupported("activities",
                                        "expected \"CPU\": the engine's steps as its "
                                        "threads see them"));
    }
  }
  if (fields.ok() && !is_plain_path(folder)) {
    fields.fail(ApiError::invalid("invalid_value", "output_dir",
                                  "'output_dir' is '" + folder.substr(0, 64) +
                                      "', expected a folder below --profile-dir: letters, digits, "
                                      "_, -, . and / without '..'"));
  }
  if (fields.ok() && (context_.options.profile_dir.empty() || context_.parts.steps == nullptr)) {
    fields.fail(ApiError::invalid(
        "unsupported_parameter", "",
        "this server keeps no traces; name a folder for them with --profile-dir"));
  }
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  const std::string path = context_.options.profile_dir + (folder.empty() ? "" : "/" + folder);
  if (std::error_code error; !std::filesystem::create_directories(path, error) && error) {
    transaction.send_error(
        ApiError::for_http(503, "the folder of traces cannot be made: " + error.message() +
                                    "; see to --profile-dir, or name another 'output_dir'"));
    return;
  }
  const Status started = context_.parts.steps->profile().start(context_.parts.clock, num_steps);
  if (!started.ok()) {
    transaction.send_error(ApiError::for_http(409, started.message()));
    return;
  }
  folder_ = path;
  ++number_;
  if (num_steps > 0) {
    watch_profile(number_);
  }
  transaction.send_json(JsonObject{{"status", "ok"}});
}

// One of so many steps ends by itself.
void ProfileRoutes::watch_profile(std::uint64_t number) {
  context_.loop.run_after(kProfilePause, [this, number] {
    if (number != number_ || context_.life.is_stopping()) {
      return;
    }
    if (!context_.parts.steps->profile().is_complete()) {
      watch_profile(number);
      return;
    }
    save_profile([](const Result<std::string>& path) {
      if (path.ok()) {
        log_info("profile written", {{"path", path.value()}});
      } else {
        log_error("profile: " + path.status().message());
      }
    });
  });
}

void ProfileRoutes::stop_profile(FieldReader& fields, Transaction transaction) {
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  // Shared because a posted function must be copyable; there is one user at a time.
  const auto waiting = std::make_shared<Transaction>(std::move(transaction));
  save_profile([waiting](const Result<std::string>& path) {
    if (path.ok()) {
      waiting->send_json(JsonObject{{"status", "ok"}, {"path", path.value()}});
    } else if (path.status().code() == Code::kUnavailable) {
      waiting->send_error(ApiError::for_http(409, path.status().message()));
    } else {
      waiting->send_error(ApiError::from_status(path.status()));
    }
  });
}

void ProfileRoutes::save_profile(const std::function<void(const Result<std::string>& path)>& told) {
  if (context_.parts.steps == nullptr) {
    told(Status(Code::kUnavailable, "no profile is being recorded"));
    return;
  }
  ++number_;  // nobody watches it any more
  const std::string path = folder_ + "/plumb-steps-" + std::to_string(context_.unix_seconds()) +
                           "-" + std::to_string(number_) + ".json";
  const Status accepted = bodies_.submit([this, path, told] {
    const Result<std::string> trace = context_.parts.steps->profile().finish();
    const Status written = trace.ok() ? write_file_atomic(path, trace.value()) : trace.status();
    context_.loop.post([told, path, written] {
      told(written.ok() ? Result<std::string>(path) : Result<std::string>(written));
    });
  });
  if (!accepted.ok()) {
    told(accepted);
  }
}

}  // namespace plumb
