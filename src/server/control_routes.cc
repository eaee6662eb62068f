// SPDX-License-Identifier: Apache-2.0
#include "server/control_routes.h"

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"

namespace plumb {
namespace {

constexpr std::int64_t kMostDrainSeconds = 86'400;
constexpr std::chrono::milliseconds kControlPause{20};
constexpr std::array kLogLevels = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning,
                                   LogLevel::kError, LogLevel::kOff};

}  // namespace

ControlRoutes::ControlRoutes(const RouteContext& context,
                             std::function<void(const AbortTarget& target)> abort)
    : context_(context), abort_(std::move(abort)) {}

void ControlRoutes::add_routes() {
  const auto add = [this](const char* path, RouteClass access, auto handler) {
    context_.operation_route(path, access, std::bind_front(handler, this));
  };
  add("/abort_request", RouteClass::kNormal, &ControlRoutes::abort_request);
  add("/drain", RouteClass::kAdminOptional, &ControlRoutes::start_drain);
  add("/pause_generation", RouteClass::kAdminOptional, &ControlRoutes::pause_generation);
  add("/continue_generation", RouteClass::kAdminOptional, &ControlRoutes::continue_generation);
  add("/set_internal_state", RouteClass::kAdminOptional, &ControlRoutes::set_internal_state);
}

// A key ends its own requests; all of them are the operator's to end.
void ControlRoutes::abort_request(FieldReader& fields, Transaction transaction) {
  AbortTarget target;
  target.is_all = fields.boolean("abort_all").value_or(false);
  target.id = fields.text("rid").value_or("");
  if (fields.ok() && !target.is_all && target.id.empty()) {
    fields.fail(ApiError::missing("rid"));
  }
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  const bool is_admin = transaction.principal.role == KeyRole::kAdmin;
  if (target.is_all && context_.keys.has_admin() && !is_admin) {
    transaction.send_error(
        ApiError::for_http(403, "'abort_all' needs an admin key; name one request by its 'rid'"));
    return;
  }
  target.is_anyones = target.is_all || is_admin;
  target.principal = transaction.principal;
  abort_(target);
  transaction.send_json(JsonObject{{"success", true}});
}

// Answers once nothing is computed any more.
void ControlRoutes::pause_generation(FieldReader& fields, Transaction transaction) {
  const std::string mode =
      fields.choice("mode", {"abort", "retract", "in_place"}).value_or("abort");
  if (const std::optional<ApiError> error = context_.check_generates(); fields.ok() && error) {
    fields.fail(*error);
  }
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  if (mode == "abort") {
    AbortTarget everybody;
    everybody.is_all = true;
    everybody.is_anyones = true;
    abort_(everybody);
  }
  context_.parts.service.pause(mode == "retract" ? PauseMode::kRetract : PauseMode::kInPlace);
  wait_for_pause(std::move(transaction), JsonObject{{"status", "ok"}, {"mode", mode}});
}

void ControlRoutes::wait_for_pause(Transaction transaction, Json answer) {
  if (transaction.writer.is_disconnected()) {
    transaction.count(kClientLeft);  // the pause goes on
    return;
  }
  const EngineStats stats = context_.parts.service.stats();
  if (stats.is_paused || stats.state == EngineState::kFailed) {
    transaction.send_json(answer);
    return;
  }
  context_.loop.run_after(kControlPause,
                          [this, x = std::move(transaction), answer = std::move(answer)]() mutable {
                            wait_for_pause(std::move(x), std::move(answer));
                          });
}

void ControlRoutes::continue_generation(FieldReader& fields, Transaction transaction) {
  if (const std::optional<ApiError> error = context_.check_generates(); fields.ok() && error) {
    fields.fail(*error);
  }
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  context_.parts.service.resume();
  transaction.send_json(JsonObject{{"status", "ok"}});
}

void ControlRoutes::start_drain(FieldReader& fields, Transaction transaction) {
  const std::int64_t most =
      std::chrono::duration_cast<std::chrono::seconds>(context_.options.drain_timeout).count();
  const std::int64_t given = fields.integer("timeout_s", 0, kMostDrainSeconds).value_or(most);
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  context_.life.drain();
  wait_for_drain(std::move(transaction), context_.parts.clock.now() + std::chrono::seconds(given));
}

void ControlRoutes::wait_for_drain(Transaction transaction, Clock::TimePoint deadline) {
  if (transaction.writer.is_disconnected()) {
    transaction.count(kClientLeft);  // the drain goes on
    return;
  }
  const std::int64_t num_calls = context_.life.num_calls();
  if (num_calls == 0 || context_.parts.clock.now() >= deadline) {
    transaction.send_json(JsonObject{{"success", num_calls == 0}, {"num_requests", num_calls}});
    return;
  }
  context_.loop.run_after(kControlPause, [this, x = std::move(transaction), deadline]() mutable {
    wait_for_drain(std::move(x), deadline);
  });
}

void ControlRoutes::set_internal_state(FieldReader& fields, Transaction transaction) {
  const JsonObject* given = fields.object("server_args");
  if (fields.ok() && given == nullptr) {
    fields.fail(ApiError::missing("server_args"));
  }
  std::optional<std::string> level;
  if (given != nullptr) {
    std::vector<std::string> names;
    names.reserve(kLogLevels.size());
    for (const LogLevel known : kLogLevels) {
      names.emplace_back(to_text(known));
    }
    FieldReader args(*given, "server_args");
    level = args.choice("log_level", names);
    for (const std::string& name : args.unread()) {
      args.fail(ApiError::unsupported(args.path(name.substr(0, 64)),
                                      "only log_level can be set while the server runs"));
    }
    fields.absorb(args);
  }
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  for (const LogLevel known : kLogLevels) {
    if (level == to_text(known)) {
      set_log_level(known);
    }
  }
  transaction.send_json(JsonObject{{"updated", true}, {"server_args", *given}});
}

}  // namespace plumb
