// SPDX-License-Identifier: Apache-2.0
#include "server/health_routes.h"

#include <chrono>
#include <functional>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::chrono::seconds kMaxHeartbeatAge{20};

}  // namespace

void HealthRoutes::add_routes() {
  for (const char* path : {"/health", "/v1/health", "/healthz", "/ping"}) {
    context_.get_route(path, RouteClass::kPublic,
                       [this](Transaction x) { health(std::move(x), false); });
  }
  for (const char* path : {"/ready", "/readyz"}) {
    context_.get_route(path, RouteClass::kPublic,
                       [this](Transaction x) { health(std::move(x), true); });
  }
  context_.get_route("/health_generate", RouteClass::kPublic,
                     std::bind_front(&HealthRoutes::health_generate, this));
}

void HealthRoutes::health(Transaction transaction, bool is_readiness) const {
  const ServerParts& parts = context_.parts;
  const bool is_alive = parts.service.is_healthy(kMaxHeartbeatAge) &&
                        (parts.embeddings == nullptr || parts.embeddings->is_healthy());
  const MemoryTags released = parts.control == nullptr ? MemoryTags() : parts.control->released();
  if (is_alive && is_readiness && released.any() && !context_.life.is_draining()) {
    transaction.send_error(ApiError::for_http(
        503, join(released.names(), ", ") +
                 " released; POST /resume_memory_occupation takes what is released back"));
    return;
  }
  if (is_alive && !(is_readiness && context_.life.is_draining())) {
    transaction.send_json(JsonObject{{"status", "ok"}});
    return;
  }
  transaction.send_error(is_alive ? shutting_down()
                                  : ApiError::for_http(503, "the engine does not run"));
}

void HealthRoutes::health_generate(Transaction transaction) {
  if (!context_.parts.service.can_generate()) {
    health(std::move(transaction), false);
    return;
  }
  const std::uint64_t id = next_id_++;
  auto probe =
      std::make_unique<HealthProbe>(context_.loop, context_.parts.service, std::move(transaction),
                                    [this, id] { probes_.erase(id); });
  probes_.emplace(id, std::move(probe)).first->second->start();
}

void HealthRoutes::end_all() {
  for (auto& [id, probe] : probes_) {
    probe->fail(shutting_down());
  }
}

}  // namespace plumb
