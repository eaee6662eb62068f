// SPDX-License-Identifier: Apache-2.0
#include "server/traces.h"

#include <utility>

#include "server/request_trace.h"

namespace plumb {

Status Traces::start(Transport& transport) {
  if (options_.otlp_endpoint.empty()) {
    return {};
  }
  TraceExporterOptions exporter;
  PLUMB_ASSIGN(exporter.url, otlp_traces_url(options_.otlp_endpoint));
  exporter.resource = {options_.otlp_service_name.empty() ? "plumb" : options_.otlp_service_name,
                       parts_.version};
  PLUMB_ASSIGN(loop_, IoContext::create("traces", parts_.clock));
  exporter_ =
      std::make_unique<TraceExporter>(std::move(exporter), *loop_, transport, parts_.metrics);
  return {};
}

void Traces::begin(const GenerationParams& params, Transaction* transaction,
                   std::vector<ChoiceRequest>* choices) const {
  if (exporter_ == nullptr) {
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
  transaction->tracer = exporter_.get();
  transaction->trace = std::make_unique<RequestTrace>(std::move(context), std::move(traced),
                                                      transaction->received, parts_.clock);
  for (ChoiceRequest& choice : *choices) {
    choice.request.wants_phases = true;
  }
}

void Traces::flush(Clock::TimePoint deadline) {
  if (exporter_ != nullptr) {
    exporter_->flush(deadline);
  }
}

void Traces::stop() {
  if (exporter_ != nullptr) {
    exporter_->stop();
    loop_->stop();
    exporter_.reset();
  }
}

}  // namespace plumb
