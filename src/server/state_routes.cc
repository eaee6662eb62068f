// SPDX-License-Identifier: Apache-2.0
#include "server/state_routes.h"

#include <utility>

#include "base/timestamp.h"

namespace plumb {
namespace {

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

StateRoutes::StateRoutes(const RouteContext& context, std::function<int()> kv_events_port)
    : context_(context),
      kv_events_port_(std::move(kv_events_port)),
      dialects_(
          make_metrics_dialects(context.options.metrics_compat,
                                {context.parts.metrics, context.metrics, context.parts.steps,
                                 context.served_name(), context.model().facts().context_len})) {}

void StateRoutes::add_routes() {
  const auto get = [this](const char* path, RouteClass access, auto handler) {
    context_.get_route(path, access, std::bind_front(handler, this));
  };
  get("/metrics", context_.options.auth_metrics ? RouteClass::kNormal : RouteClass::kPublic,
      &StateRoutes::metrics);
  get("/server_info", RouteClass::kNormal, &StateRoutes::server_info);
  get("/get_server_info", RouteClass::kNormal, &StateRoutes::server_info);
  get("/model_info", RouteClass::kNormal, &StateRoutes::model_info);
  get("/get_model_info", RouteClass::kNormal, &StateRoutes::model_info);
  get("/props", RouteClass::kNormal, &StateRoutes::props);
  get("/load", RouteClass::kNormal, &StateRoutes::server_load);
  get("/get_load", RouteClass::kNormal, &StateRoutes::rank_load);
  get("/v1/loads", RouteClass::kNormal, &StateRoutes::loads);
  context_.get_route("/version", RouteClass::kPublic, [this](Transaction x) {
    x.send_json(JsonObject{{"version", context_.parts.version}});
  });
}

void StateRoutes::metrics(Transaction transaction) {
  const ServerParts& parts = context_.parts;
  parts.service.export_metrics(parts.metrics);
  if (parts.embeddings != nullptr) {
    parts.embeddings->export_metrics(parts.metrics);
  }
  const EngineStats stats = parts.service.stats();
  const ConstraintStats constraints = parts.service.constraints().stats();
  for (const std::unique_ptr<MetricsDialect>& dialect : dialects_) {
    dialect->update(stats, constraints, parts.clock.now());
  }
  transaction.send(200, "text/plain; version=0.0.4; charset=utf-8", parts.metrics.text());
}

void StateRoutes::server_info(Transaction transaction) {
  Json info = context_.parts.describe();
  info.as_object().set("version", context_.parts.version);
  info.as_object().set("internal_states", internal_states());
  info.as_object().set("weight_version", context_.model().weights().version);
  if (context_.parts.control != nullptr) {
    const std::vector<std::string> released = context_.parts.control->released().names();
    info.as_object().set("released_memory", JsonArray(released.begin(), released.end()));
  }
  if (const int port = kv_events_port_(); port >= 0) {
    info.as_object().set("kv_events_port", std::int64_t{port});
  }
  transaction.send_json(info);
}

LoadFacts StateRoutes::load_facts() {
  LoadFacts facts;
  facts.stats = stats();
  facts.max_running_requests = context_.parts.service.max_num_seqs();
  facts.gen_throughput =
      throughput_.update(facts.stats.completion_tokens, context_.parts.clock.now());
  const Json info = context_.parts.describe();
  facts.weight_bytes = int_member(info, "memory", "weight_bytes");
  facts.kv_cache_bytes = int_member(info, "memory", "kv_bytes");
  return facts;
}

Json StateRoutes::internal_states() {
  const LoadFacts facts = load_facts();
  return JsonArray{JsonObject{{"last_gen_throughput", facts.gen_throughput},
                              {"is_paused", facts.stats.is_paused},
                              {"memory_usage", memory_usage_to_json(facts)}}};
}

// Paths of the machine are nobody's business: the model goes by its name.
void StateRoutes::model_info(Transaction transaction) {
  const ServedModelFacts& facts = context_.model().facts();
  transaction.send_json(JsonObject{{"model_path", facts.served_name},
                                   {"tokenizer_path", facts.served_name},
                                   {"is_generation", context_.parts.service.can_generate()},
                                   {"weight_version", context_.model().weights().version},
                                   {"model_type", facts.description.family},
                                   {"architectures", facts.description.architectures},
                                   {"max_context_len", facts.context_len}});
}

void StateRoutes::props(Transaction transaction) {
  const ServedModel& model = context_.model();
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
      {"total_slots", context_.parts.service.max_num_seqs()},
      {"model_alias", facts.served_name},
      {"chat_template", facts.description.chat_template},
      {"bos_token", text_of_token(model.tokenizer(), special.bos)},
      {"eos_token", text_of_token(model.tokenizer(), special.eos)},
      {"modalities", JsonObject{{"vision", false}, {"audio", false}}},
      {"build_info", context_.parts.version}});
}

// Of the engine; texts that wait for their vectors wait too.
EngineStats StateRoutes::stats() const {
  EngineStats stats = context_.parts.service.stats();
  if (context_.parts.embeddings != nullptr) {
    stats.num_waiting += context_.parts.embeddings->num_waiting();
  }
  return stats;
}

void StateRoutes::server_load(Transaction transaction) {
  const EngineStats now = stats();
  transaction.send_json(JsonObject{{"server_load", now.num_running + now.num_waiting}});
}

void StateRoutes::rank_load(Transaction transaction) {
  const EngineStats now = stats();
  transaction.send_json(
      JsonArray{JsonObject{{"dp_rank", 0},
                           {"num_reqs", now.num_running + now.num_waiting},
                           {"num_waiting_reqs", now.num_waiting},
                           {"num_tokens", now.num_used_blocks() * now.block_size}}});
}

void StateRoutes::loads(Transaction transaction) {
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
  const Json info = context_.parts.describe();
  const Json* backend = info.find("backend");
  const Json* name = backend == nullptr ? nullptr : backend->find("name");
  transaction.send_json(JsonObject{{"timestamp", to_rfc3339(context_.parts.clock.wall_now(), 3)},
                                   {"version", context_.parts.version},
                                   {"accelerator", name == nullptr ? Json() : *name},
                                   {"num_accelerators", 1},
                                   {"loads", JsonArray{std::move(load)}}});
}

}  // namespace plumb
