// SPDX-License-Identifier: Apache-2.0
// Routes that hold the engine still, and that record its steps.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "server/server.h"

namespace plumb {
namespace {

constexpr std::int64_t kMostProfileSteps = 100'000;
constexpr std::chrono::milliseconds kControlPause{20};

// A folder below another one, by names alone.
bool is_plain_path(std::string_view path) {
  return path.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") ==
             std::string_view::npos &&
         !path.starts_with('/') && path.find("..") == std::string_view::npos;
}

}  // namespace

void Server::add_control_routes() {
  const auto add = [this](const char* path, Operation handler) {
    operation_route(path, RouteClass::kAdminOptional, handler);
  };
  add("/pause_generation", &Server::pause_generation);
  add("/continue_generation", &Server::continue_generation);
  add("/start_profile", &Server::start_profile);
  add("/stop_profile", &Server::stop_profile);
}

// Answers once nothing is computed any more.
void Server::pause_generation(FieldReader& fields, Transaction transaction) {
  const std::string mode =
      fields.choice("mode", {"abort", "retract", "in_place"}).value_or("abort");
  if (!are_fields_fine(fields, &transaction)) {
    return;
  }
  if (mode == "abort") {
    AbortTarget everybody;
    everybody.is_all = true;
    everybody.is_anyones = true;
    abort_preparations(everybody);
    abort_calls(everybody);
  }
  parts_.service.pause(mode == "retract" ? PauseMode::kRetract : PauseMode::kInPlace);
  wait_for_pause(std::move(transaction), JsonObject{{"status", "ok"}, {"mode", mode}});
}

void Server::wait_for_pause(Transaction transaction, Json answer) {
  if (transaction.writer.is_disconnected()) {
    transaction.count(kClientLeft);  // the pause goes on
    return;
  }
  const EngineStats stats = parts_.service.stats();
  if (stats.is_paused || stats.state == EngineState::kFailed) {
    transaction.send_json(answer);
    return;
  }
  loop_->run_after(kControlPause,
                   [this, x = std::move(transaction), answer = std::move(answer)]() mutable {
                     wait_for_pause(std::move(x), std::move(answer));
                   });
}

void Server::continue_generation(FieldReader& fields, Transaction transaction) {
  if (!are_fields_fine(fields, &transaction)) {
    return;
  }
  parts_.service.resume();
  transaction.send_json(JsonObject{{"status", "ok"}});
}

void Server::start_profile(FieldReader& fields, Transaction transaction) {
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
  if (fields.ok() && (options_.profile_dir.empty() || parts_.steps == nullptr)) {
    fields.fail(ApiError::invalid(
        "unsupported_parameter", "",
        "this server keeps no traces; name a folder for them with --profile-dir"));
  }
  if (!are_fields_fine(fields, &transaction)) {
    return;
  }
  const Status started = parts_.steps->profile().start(parts_.clock, num_steps);
  if (!started.ok()) {
    transaction.send_error(ApiError::for_http(409, started.message()));
    return;
  }
  profile_folder_ = options_.profile_dir + (folder.empty() ? "" : "/" + folder);
  ++profile_number_;
  if (num_steps > 0) {
    watch_profile(profile_number_);
  }
  transaction.send_json(JsonObject{{"status", "ok"}});
}

// One of so many steps ends by itself.
void Server::watch_profile(std::uint64_t number) {
  loop_->run_after(kControlPause, [this, number] {
    if (number != profile_number_) {
      return;
    }
    if (!parts_.steps->profile().is_complete()) {
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

void Server::stop_profile(FieldReader& fields, Transaction transaction) {
  if (!are_fields_fine(fields, &transaction)) {
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

void Server::save_profile(std::function<void(Result<std::string> path)> told) {
  if (parts_.steps == nullptr) {
    told(Status(Code::kUnavailable, "no profile is being recorded"));
    return;
  }
  ++profile_number_;  // nobody watches it any more
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(parts_.clock.wall_now().time_since_epoch());
  const std::string path = profile_folder_ + "/plumb-steps-" + std::to_string(seconds.count()) +
                           "-" + std::to_string(profile_number_) + ".json";
  const Status accepted = workers_->submit([this, path, told] {
    const Result<std::string> trace = parts_.steps->profile().finish();
    const Status written = trace.ok() ? write_file_atomic(path, trace.value()) : trace.status();
    loop_->post([told, path, written] {
      told(written.ok() ? Result<std::string>(path) : Result<std::string>(written));
    });
  });
  if (!accepted.ok()) {
    told(accepted);
  }
}

}  // namespace plumb
