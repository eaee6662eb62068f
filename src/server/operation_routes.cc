// SPDX-License-Identifier: Apache-2.0
// Routes for those who run the server: its load, its state, and what may be done to it.
#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "server/server.h"

namespace plumb {
namespace {

constexpr std::int64_t kMostDrainSeconds = 86'400;
constexpr std::chrono::milliseconds kDrainPause{20};
constexpr std::array kLogLevels = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning,
                                   LogLevel::kError, LogLevel::kOff};

std::int64_t int_member(const Json& object, const char* group, const char* name) {
  const Json* inner = object.find(group);
  const Json* value = inner == nullptr ? nullptr : inner->find(name);
  std::int64_t number = 0;
  return value != nullptr && value->to_int64(&number) ? number : 0;
}

std::string text_of_token(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? std::string(tokenizer.token_text(*id)) : "";
}

}  // namespace

void Server::add_operation_routes() {
  const auto get = [this](const char* path, RouteClass access, auto handler) {
    router_.add({"GET", path, access, [this, handler](Transaction x, const std::string&) {
                   (this->*handler)(std::move(x));
                 }});
  };
  get("/health_generate", RouteClass::kPublic, &Server::health_generate);
  get("/model_info", RouteClass::kNormal, &Server::model_info);
  get("/get_model_info", RouteClass::kNormal, &Server::model_info);
  get("/props", RouteClass::kNormal, &Server::props);
  get("/load", RouteClass::kNormal, &Server::server_load);
  get("/get_load", RouteClass::kNormal, &Server::rank_load);
  get("/v1/loads", RouteClass::kNormal, &Server::loads);
  operation_route("/abort_request", RouteClass::kNormal, &Server::abort_request);
  operation_route("/drain", RouteClass::kAdminOptional, &Server::start_drain);
  add_control_routes();
  operation_route("/set_internal_state", RouteClass::kAdminOptional, &Server::set_internal_state);
}

LoadFacts Server::load_facts() {
  LoadFacts facts;
  facts.stats = parts_.service.stats();
  facts.max_running_requests = parts_.service.max_num_seqs();
  facts.gen_throughput = throughput_.update(facts.stats.completion_tokens, parts_.clock.now());
  const Json info = parts_.describe();
  facts.weight_bytes = int_member(info, "memory", "weight_bytes");
  facts.kv_cache_bytes = int_member(info, "memory", "kv_bytes");
  return facts;
}

Json Server::internal_states() {
  const LoadFacts facts = load_facts();
  return JsonArray{JsonObject{{"last_gen_throughput", facts.gen_throughput},
                              {"is_paused", facts.stats.is_paused},
                              {"memory_usage", memory_usage_to_json(facts)}}};
}

void Server::health_generate(Transaction transaction) {
  if (!parts_.service.can_generate()) {
    health(std::move(transaction), false);
    return;
  }
  const std::uint64_t id = next_call_++;
  auto probe = std::make_unique<HealthProbe>(*loop_, parts_.service, std::move(transaction),
                                             [this, id] { probes_.erase(id); });
  probes_.emplace(id, std::move(probe)).first->second->start();
}

// Paths of the machine are nobody's business: the model goes by its name.
void Server::model_info(Transaction transaction) {
  const ServedModelFacts& facts = parts_.service.model().facts();
  transaction.send_json(JsonObject{{"model_path", facts.served_name},
                                   {"tokenizer_path", facts.served_name},
                                   {"is_generation", parts_.service.can_generate()},
                                   {"weight_version", parts_.service.model().weights().version},
                                   {"model_type", facts.description.family},
                                   {"architectures", facts.description.architectures},
                                   {"max_context_len", facts.context_len}});
}

void Server::props(Transaction transaction) {
  const ServedModel& model = parts_.service.model();
  const ServedModelFacts& facts = model.facts();
  const SpecialIds& special = model.tokenizer().special_ids();
  transaction.send_json(JsonObject{
      {"default_generation_settings",
       JsonObject{{"n_ctx", facts.context_len},
                  {"params", JsonObject{{"temperature", facts.defaults.temperature},
                                        {"top_k", facts.defaults.top_k},
                                        {"top_p", facts.defaults.top_p},
                                        {"min_p", facts.defaults.min_p},
                                        {"repeat_penalty", facts.defaults.repetition_penalty},
                                        {"n_predict", -1}}}}},
      {"total_slots", parts_.service.max_num_seqs()},
      {"model_alias", facts.served_name},
      {"chat_template", facts.description.chat_template},
      {"bos_token", text_of_token(model.tokenizer(), special.bos)},
      {"eos_token", text_of_token(model.tokenizer(), special.eos)},
      {"modalities", JsonObject{{"vision", false}, {"audio", false}}},
      {"build_info", parts_.version}});
}

void Server::server_load(Transaction transaction) {
  const EngineStats stats = parts_.service.stats();
  transaction.send_json(JsonObject{{"server_load", stats.num_running + stats.num_waiting}});
}

void Server::rank_load(Transaction transaction) {
  const EngineStats stats = parts_.service.stats();
  transaction.send_json(
      JsonArray{JsonObject{{"dp_rank", 0},
                           {"num_reqs", stats.num_running + stats.num_waiting},
                           {"num_waiting_reqs", stats.num_waiting},
                           {"num_tokens", stats.num_used_blocks() * stats.block_size}}});
}

void Server::loads(Transaction transaction) {
  const std::string& query = transaction.request.query;
  const std::string rank = query_value(query, "dp_rank");
  const std::string format = query_value(query, "format");
  const auto sections = read_load_sections(query_value(query, "include"));
  if (const auto* error = std::get_if<ApiError>(&sections)) {
    transaction.send_error(*error);
    return;
  }
  if (!rank.empty() && rank != "0") {
    transaction.send_error(ApiError::invalid(
        "invalid_value", "dp_rank",
        "'dp_rank' is '" + rank.substr(0, 32) + "', expected 0: there is one engine"));
    return;
  }
  if (!format.empty() && format != "json" && format != "prometheus") {
    transaction.send_error(ApiError::invalid(
        "invalid_value", "format",
        "'format' is '" + format.substr(0, 32) + "', expected json or prometheus"));
    return;
  }
  Json load = load_to_json(load_facts(), std::get<unsigned>(sections));
  if (format == "prometheus") {
    transaction.send(200, "text/plain; version=0.0.4; charset=utf-8", load_to_prometheus(load));
    return;
  }
  const Json info = parts_.describe();
  const Json* backend = info.find("backend");
  const Json* name = backend == nullptr ? nullptr : backend->find("name");
  transaction.send_json(JsonObject{{"timestamp", to_rfc3339(parts_.clock.wall_now(), 3)},
                                   {"version", parts_.version},
                                   {"accelerator", name == nullptr ? Json() : *name},
                                   {"num_accelerators", 1},
                                   {"loads", JsonArray{std::move(load)}}});
}

void Server::start_drain(FieldReader& fields, Transaction transaction) {
  const std::int64_t most =
      std::chrono::duration_cast<std::chrono::seconds>(options_.drain_timeout).count();
  const std::int64_t given = fields.integer("timeout_s", 0, kMostDrainSeconds).value_or(most);
  if (!are_fields_fine(fields, &transaction)) {
    return;
  }
  is_draining_.store(true);
  wait_for_drain(std::move(transaction), parts_.clock.now() + std::chrono::seconds(given));
}

void Server::wait_for_drain(Transaction transaction, Clock::TimePoint deadline) {
  if (transaction.writer.is_disconnected()) {
    transaction.count(kClientLeft);  // the drain goes on
    return;
  }
  std::int64_t num_calls = 0;
  {
    const MutexLock lock(drain_mutex_);
    num_calls = num_calls_;
  }
  if (num_calls == 0 || parts_.clock.now() >= deadline) {
    transaction.send_json(JsonObject{{"success", num_calls == 0}, {"num_requests", num_calls}});
    return;
  }
  loop_->run_after(kDrainPause, [this, x = std::move(transaction), deadline]() mutable {
    wait_for_drain(std::move(x), deadline);
  });
}

void Server::set_internal_state(FieldReader& fields, Transaction transaction) {
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
  if (!are_fields_fine(fields, &transaction)) {
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
