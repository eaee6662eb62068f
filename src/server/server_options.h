// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "api/chat_style.h"
#include "base/option_field.h"
#include "server/access_log.h"
#include "server/response_options.h"

namespace plumb {

/// Whose requests may reuse each other's cached prefixes, and so tell by the time to the first
/// token what others have asked.
enum class PrefixScope : unsigned char {
  kShared,     ///< everybody's
  kPrincipal,  ///< those of the same key; without keys everybody's
  kNone,       ///< no other request's; the choices of one request share
};

/// How the HTTP server listens and what it allows.
struct ServerOptions {
  std::string host = "127.0.0.1";
  std::int64_t port = 8000;
  std::string api_key_file;
  std::string api_key;
  std::string admin_key_file;
  bool insecure_no_auth = false;
  bool auth_metrics = false;
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string served_model_name;
  std::string models_catalog;
  std::string root_path;
  std::string cors_origins;
  bool strict_fields = false;
  bool keep_billing_line = false;
  bool incremental_streaming_output = false;
  bool web = true;
  std::int64_t max_body_bytes = std::int64_t{32} << 20;
  std::int64_t max_connections = 65535;
  std::int64_t kv_events_port = -1;
  std::int64_t max_n = 128;
  PrefixScope prefix_scope = PrefixScope::kPrincipal;
  std::vector<std::string> metrics_compat;
  std::vector<std::string> compat;
  std::string otlp_endpoint;
  std::string otlp_service_name;
  std::string profile_dir;
  std::string weights_root;
  ResponseOptions responses;  ///< options of their own
  ChatStyle chat;             ///< the same
  AccessLogOptions access;    ///< the same
  std::chrono::milliseconds header_delay{5000};
  std::chrono::milliseconds heartbeat{15000};
  std::chrono::milliseconds drain_timeout{30000};

  static constexpr auto fields() {
    using S = ServerOptions;
    return std::tuple{
        field(&S::host, "host", "address to listen on; a public one needs --api-key-file"),
        field(&S::port, "port", "TCP port; 0 takes any free one", 0, 65535),
        path_field(&S::api_key_file, "api-key-file",
                   "file (mode 0600) of keys of at least 16 characters, one a line: KEY or "
                   "NAME:ROLE:KEY"),
        secret_field(&S::api_key, "api-key",
                     "one key; other users see a command line, so prefer a file"),
        path_field(&S::admin_key_file, "admin-key-file", "file (mode 0600) of operators' keys"),
        field(&S::insecure_no_auth, "insecure-no-auth", "allow a public address without keys"),
        field(&S::auth_metrics, "auth-metrics", "ask for a key on /metrics too"),
        path_field(&S::tls_cert_file, "tls-cert-file",
                   "certificate chain (PEM); with --tls-key-file serves HTTPS"),
        path_field(&S::tls_key_file, "tls-key-file", "private key (PEM)"),
        field(&S::served_model_name, "served-model-name",
              "name in /v1/models; default: from the model file"),
        path_field(&S::models_catalog, "models-catalog",
                   "JSON file of models that /v1/models adds as \"models\""),
        field(&S::root_path, "root-path", "serve everything under this path, for example /llm"),
        field(&S::cors_origins, "cors-origins",
              "origins that browsers may call from, comma separated, or *"),
        field(&S::strict_fields, "strict-fields",
              "refuse unknown request fields instead of naming them in a header"),
        field(&S::keep_billing_line, "keep-billing-line",
              "leave the line x-anthropic-billing-header in system prompts, though it differs in "
              "every request and the prefix cache finds nothing behind it"),
        field(&S::incremental_streaming_output, "incremental-streaming-output",
              "streams of /generate hold what is new in each event, not all that there is"),
        field(&S::web, "web", "serve the web console at /"),
        bytes_field(&S::max_body_bytes, "max-body-bytes", "largest request body", 1024, 0x1p30),
        field(&S::max_connections, "max-connections", "connections at once", 1, 1000000),
        field(&S::kv_events_port, "kv-events-port",
              "with --kv-events: TCP port that sends them; 0 takes any free one", -1, 65535),
        field(&S::max_n, "max-n", "largest n of a request", 1, 1024),
        choice_field(&S::prefix_scope, "prefix-scope",
                     "who may reuse whose cached prefixes: everybody, requests of the same key, or "
                     "no other request",
                     std::array{Choice<PrefixScope>{"shared", PrefixScope::kShared},
                                Choice<PrefixScope>{"principal", PrefixScope::kPrincipal},
                                Choice<PrefixScope>{"none", PrefixScope::kNone}}),
        field(&S::metrics_compat, "metrics-compat",
              "also show the metrics under the names of these servers: vllm, sglang, llamacpp"),
        field(&S::compat, "compat", "also serve routes of these servers: llamacpp (/completion)"),
        field(&S::otlp_endpoint, "otlp-endpoint",
              "send traces to this collector (OTLP over HTTP, JSON), for example "
              "http://127.0.0.1:4318; default: OTEL_EXPORTER_OTLP_ENDPOINT"),
        field(&S::otlp_service_name, "otlp-service-name",
              "service.name of these traces; default: OTEL_SERVICE_NAME, else plumb"),
        path_field(&S::profile_dir, "profile-dir", "folder of the traces of /stop_profile"),
        path_field(&S::weights_root, "weights-root", "folder of /update_weights_from_disk"),
        field(&S::header_delay, "header-delay",
              "a stream's header is sent at the first token or after this time", 0, 3600),
        field(&S::heartbeat, "heartbeat", "comment line after that much silence in a stream", 1,
              3600),
        field(&S::drain_timeout, "drain-timeout", "time of running requests after SIGTERM", 0,
              86400),
    };
  }
};

}  // namespace plumb
