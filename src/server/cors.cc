// SPDX-License-Identifier: Apache-2.0
#include "server/cors.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace plumb {

void add_cors_headers(std::string_view origins, Transaction* transaction) {
  const std::optional<std::string_view> origin = transaction->request.headers.find("origin");
  if (origins.empty() || !origin.has_value()) {
    return;
  }
  const std::vector<std::string_view> allowed = split(origins, ',');
  for (const std::string_view entry : allowed) {
    if (trim(entry) == "*" || trim(entry) == *origin) {
      transaction->extra_headers.push_back(
          {"access-control-allow-origin", trim(entry) == "*" ? "*" : std::string(*origin)});
      transaction->extra_headers.push_back({"access-control-expose-headers",
                                            "x-request-id, retry-after, x-plumb-ignored-fields, "
                                            "x-plumb-ignored-items, x-plumb-ignored-keywords, "
                                            "x-plumb-ignored-tools"});
      return;
    }
  }
}

bool answer_preflight(Transaction* transaction) {
  if (transaction->request.method != "OPTIONS") {
    return false;
  }
  Headers headers = transaction->headers("text/plain");
  headers.add("access-control-allow-methods", "GET, POST, DELETE, OPTIONS");
  if (const auto asked = transaction->request.headers.find("access-control-request-headers")) {
    headers.add("access-control-allow-headers", std::string(*asked));
  }
  headers.add("access-control-max-age", "600");
  transaction->writer.send({204, std::move(headers), ""});
  return true;
}

}  // namespace plumb
