// SPDX-License-Identifier: Apache-2.0
#include "server/memory_routes.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxTags = 16;

// All of them where the request names none.
MemoryTags read_tags(FieldReader& fields) {
  const JsonArray* names = fields.array("tags", kMaxTags);
  if (names == nullptr) {
    return {true, true, true};
  }
  MemoryTags tags;
  for (const Json& name : *names) {
    if (name == Json("kv_cache")) {
      tags.kv_cache = true;
    } else if (name == Json("weights")) {
      tags.weights = true;
    } else if (name == Json("cuda_graph")) {
      tags.cuda_graph = true;
    } else {
      fields.fail(
          ApiError::invalid("invalid_value", "tags",
                            "'tags' holds " + to_text(name).substr(0, 64) +
                                ", expected any of \"kv_cache\", \"weights\", \"cuda_graph\""));
    }
  }
  if (fields.ok() && !tags.any()) {
    fields.fail(ApiError::invalid("invalid_value", "tags",
                                  "'tags' is empty; leave it out to name all of them"));
  }
  return tags;
}

// {"success","message","tags":[what this call changed],"released":[what is released now]}
Json memory_answer(const char* done, const MemoryTags& changed, const MemoryTags& released) {
  const std::vector<std::string> names = changed.names();
  const std::vector<std::string> left = released.names();
  const std::string what =
      names.empty() ? "nothing was to be " + std::string(done) : join(names, ", ") + " " + done;
  return JsonObject{{"success", true},
                    {"message", what},
                    {"tags", JsonArray(names.begin(), names.end())},
                    {"released", JsonArray(left.begin(), left.end())}};
}

ApiError memory_error(const Status& status) {
  const bool is_refused =
      status.code() == Code::kInvalidArgument || status.code() == Code::kUnsupported;
  return is_refused ? ApiError::for_http(400, status.message()) : ApiError::from_status(status);
}

}  // namespace

void MemoryRoutes::add_routes() {
  context_.operation_route("/release_memory_occupation", RouteClass::kAdminForced,
                           std::bind_front(&MemoryRoutes::release, this));
  context_.operation_route("/resume_memory_occupation", RouteClass::kAdminForced,
                           std::bind_front(&MemoryRoutes::resume, this));
}

void MemoryRoutes::release(FieldReader& fields, Transaction transaction) {
  change(fields, std::move(transaction), &ModelControl::release, "released");
}

void MemoryRoutes::resume(FieldReader& fields, Transaction transaction) {
  change(fields, std::move(transaction), &ModelControl::resume, "resumed");
}

void MemoryRoutes::change(FieldReader& fields, Transaction transaction, Change how,
                          const char* done) {
  const MemoryTags tags = read_tags(fields);
  if (fields.ok() && context_.parts.control == nullptr) {
    fields.fail(ApiError::for_http(400, "this server keeps no memory that it can release"));
  }
  if (!context_.are_fields_fine(fields, &transaction)) {
    return;
  }
  bodies_.look_up(
      std::move(transaction),
      [control = context_.parts.control, tags, how, done](const Asker&) -> Prepared {
        const Result<MemoryTags> changed = (control->*how)(tags);
        return changed.ok() ? answer_with(memory_answer(done, changed.value(), control->released()))
                            : Prepared(memory_error(changed.status()));
      });
}

}  // namespace plumb
