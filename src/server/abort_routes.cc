// SPDX-License-Identifier: Apache-2.0
// Ending requests from outside, wherever they are on their way.
#include <utility>

#include "server/server.h"
#include "server/waiting_call.h"

namespace plumb {
namespace {

// Ids that came for one body while it was prepared; who sends more has one request with many ids.
constexpr std::size_t kMaxNotedAborts = 64;

ApiError request_aborted() {
  return ApiError::from_status({Code::kCancelled, "the request was aborted"});
}

}  // namespace

// A key ends its own requests; all of them are the operator's to end.
void Server::abort_request(FieldReader& fields, Transaction transaction) {
  AbortTarget target;
  target.is_all = fields.boolean("abort_all").value_or(false);
  target.id = fields.text("rid").value_or("");
  if (fields.ok() && !target.is_all && target.id.empty()) {
    fields.fail(ApiError::missing("rid"));
  }
  if (!are_fields_fine(fields, &transaction)) {
    return;
  }
  const bool is_admin = transaction.principal.role == KeyRole::kAdmin;
  if (target.is_all && keys_.has_admin() && !is_admin) {
    transaction.send_error(
        ApiError::for_http(403, "'abort_all' needs an admin key; name one request by its 'rid'"));
    return;
  }
  target.is_anyones = target.is_all || is_admin;
  target.principal = transaction.principal;
  abort_preparations(target);
  abort_calls(target);
  transaction.send_json(JsonObject{{"success", true}});
}

bool Server::AbortTarget::may_end_those_of(const Principal& other) const {
  return is_anyones || principal.cache_salt == other.cache_salt;
}

// A body may name its request itself, which is known once it has been read: then it is ended.
void Server::abort_preparations(const AbortTarget& target) {
  for (auto at = preparations_.begin(); at != preparations_.end();) {
    Preparation& preparation = at->second;
    if (!target.may_end_those_of(preparation.transaction.principal)) {
      ++at;
    } else if (target.is_all || preparation.transaction.request_id == target.id) {
      abandon(&preparation, request_aborted());
      at = preparations_.erase(at);
    } else {
      if (preparation.aborts.size() < kMaxNotedAborts) {
        preparation.aborts.push_back(target);
      }
      ++at;
    }
  }
}

void Server::abort_calls(const AbortTarget& target) {
  for (auto& [id, waiting] : waiting_calls_) {
    if (target.may_end_those_of(waiting->transaction.principal) &&
        (target.is_all || waiting->has_id(target.id))) {
      waiting->answer(request_aborted());
    }
  }
  for (auto& [id, call] : calls_) {
    if (target.is_all ||
        (call->has_id(target.id) && (target.is_anyones || call->is_of(target.principal)))) {
      call->fail(request_aborted());
    }
  }
  const std::string owner = owner_of(target.principal);
  for (auto& [id, run] : runs_) {
    const ResponseTurn& turn = run->turn();
    if (target.is_all || ((id == target.id || turn.request_id == target.id) &&
                          (target.is_anyones || turn.owner == owner))) {
      run->fail(request_aborted());
    }
  }
}

}  // namespace plumb
