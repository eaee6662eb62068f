// SPDX-License-Identifier: Apache-2.0
#include "server/weights_routes.h"

#include <functional>
#include <string>
#include <utility>

#include "base/path_below.h"

namespace plumb {
namespace {

// Paths of the machine are nobody's business: what is told names the path as it was asked for.
std::string without_folder(std::string message, const std::string& found,
                           const std::string& asked) {
  for (std::size_t at = message.find(found); at != std::string::npos;
       at = message.find(found, at + asked.size())) {
    message.replace(at, found.size(), asked);
  }
  return message;
}

// Names the field where another value of it would help.
ApiError update_error(const WeightsUpdate& update, const std::string& found,
                      const std::string& asked) {
  const Status& status = update.status;
  const bool is_refused = status.code() == Code::kInvalidArgument ||
                          status.code() == Code::kNotFound || status.code() == Code::kUnsupported;
  if (is_refused && update.is_of_file) {
    return ApiError::invalid("invalid_value", "model_path",
                             without_folder(status.message(), found, asked));
  }
  return is_refused ? ApiError::for_http(400, status.message()) : ApiError::from_status(status);
}

}  // namespace

void WeightsRoutes::add_routes() {
  context_.operation_route("/update_weights_from_disk", RouteClass::kAdminOptional,
                           std::bind_front(&WeightsRoutes::update, this));
}

void WeightsRoutes::update(FieldReader& fields, Transaction transaction) {
  const std::string path = fields.needed_text("model_path");
  const bool flush_cache = fields.boolean("flush_cache").value_or(true);
  if (fields.ok() && (context_.options.weights_root.empty() || context_.parts.control == nullptr)) {
    fields.fail(ApiError::for_http(
        403,
        context_.parts.control == nullptr
            ? "the weights of this server cannot be replaced"
            : "this server takes no other weights; name their folder with --weights-root DIR"));
  }
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  bodies_.look_up(std::move(transaction), [this, path, flush_cache](const Asker&) -> Prepared {
    const Result<std::string> found = path_below(context_.options.weights_root, path);
    if (!found.ok()) {
      return ApiError::invalid("invalid_value", "model_path",
                               "'model_path': " + found.status().message() + " (--weights-root)");
    }
    const WeightsUpdate update = context_.parts.control->update_weights(found.value(), flush_cache);
    if (!update.status.ok()) {
      return update_error(update, found.value(), path);
    }
    return answer_with(Json(JsonObject{{"success", true},
                                       {"message", "the weights are replaced"},
                                       {"weight_version", context_.model().weights().version}}));
  });
}

}  // namespace plumb
