// SPDX-License-Identifier: Apache-2.0
// What the server shows of itself: metrics and traces.
#include <utility>

#include "server/server.h"

namespace plumb {

void Server::metrics(Transaction transaction) {
  parts_.service.export_metrics(parts_.metrics);
  if (parts_.embeddings != nullptr) {
    parts_.embeddings->export_metrics(parts_.metrics);
  }
  const EngineStats stats = parts_.service.stats();
  const ConstraintStats constraints = parts_.service.constraints().stats();
  for (const std::unique_ptr<MetricsDialect>& dialect : dialects_) {
    dialect->update(stats, constraints, parts_.clock.now());
  }
  transaction.send(200, "text/plain; version=0.0.4; charset=utf-8", parts_.metrics.text());
}

Status Server::start_traces() {
  if (options_.otlp_endpoint.empty()) {
    return {};
  }
  TraceExporterOptions exporter;
  PLUMB_ASSIGN(exporter.url, otlp_traces_url(options_.otlp_endpoint));
  exporter.resource = {options_.otlp_service_name.empty() ? "plumb" : options_.otlp_service_name,
                       parts_.version};
  PLUMB_ASSIGN(trace_loop_, IoContext::create("traces", parts_.clock));
  tracer_ = std::make_unique<TraceExporter>(std::move(exporter), *trace_loop_, *transport_,
                                            parts_.metrics);
  return {};
}

void Server::end_traces() {
  if (tracer_ != nullptr) {
    tracer_->stop();
    trace_loop_->stop();
    tracer_.reset();
  }
}

// Begins the trace of a request that is about to be submitted, unless its caller records none.
void Server::trace(const GenerationParams& params, Transaction* transaction,
                   std::vector<ChoiceRequest>* choices) {
  if (tracer_ == nullptr) {
    return;
  }
  TraceContext context = trace_context_of(transaction->request.headers);
  if (!context.is_sampled) {
    return;
  }
  TracedRequest traced;
  traced.id = transaction->request_id;
  traced.model = parts_.service.model().facts().served_name;
  traced.temperature = params.sampling.temperature;
  traced.top_p = params.sampling.top_p;
  traced.max_tokens = params.sampling.max_tokens;
  traced.n = params.n;
  traced.choices_per_prompt = params.choices_per_prompt;
  transaction->tracer = tracer_.get();
  transaction->trace = std::make_unique<RequestTrace>(std::move(context), std::move(traced),
                                                      transaction->received, parts_.clock);
  for (ChoiceRequest& choice : *choices) {
    choice.request.wants_phases = true;
  }
}

}  // namespace plumb
