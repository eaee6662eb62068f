// SPDX-License-Identifier: Apache-2.0
#include "server/response_runs.h"

#include <utility>

#include "base/log.h"

namespace plumb {
namespace {

constexpr std::string_view kPlainInTypes = "_-.";

}  // namespace

void ResponseRuns::launch(const std::shared_ptr<ResponseTurn>& turn, Transaction transaction,
                          std::unique_ptr<ResponseFormat> format, const GenerationParams& params,
                          std::vector<ChoiceRequest> choices) {
  transaction.add_names("x-plumb-ignored-tools", turn->left_out_tools, kPlainInTypes);
  transaction.add_names("x-plumb-ignored-items", turn->left_out_items, kPlainInTypes);
  if (!calls_.address_choices(&transaction, params, &choices)) {
    return;
  }
  turn->request_id = transaction.request_id;
  if (turn->is_background) {
    run_in_background(turn, std::move(transaction), std::move(format), params, std::move(choices));
    return;
  }
  const std::uint64_t call = calls_.new_id();
  const std::string id = turn->assembler->id();
  live_.add(turn->owner, id);
  response_calls_.emplace(id, call);
  Call::Setup setup = CallTable::call_setup(params, choices.size());
  if (turn->is_kept) {
    setup.keep = [this, turn, call] {
      store_->put(turn->record(false), [this, call](const Status& kept) {
        context_.loop.post([this, call, kept] {
          if (Call* found = calls_.find(call)) {  // else its client has left
            found->deliver(kept);
          }
        });
      });
    };
  }
  calls_.run_call(call, std::move(transaction), std::move(format), setup, params,
                  std::move(choices), [this, turn, id] {
                    live_.remove(turn->owner, id);
                    response_calls_.erase(id);
                  });
}

void ResponseRuns::run_in_background(const std::shared_ptr<ResponseTurn>& turn,
                                     Transaction transaction,
                                     std::unique_ptr<ResponseFormat> format,
                                     const GenerationParams& params,
                                     std::vector<ChoiceRequest> choices) {
  const std::string id = turn->assembler->id();
  auto run =
      std::make_unique<BackgroundRun>(context_.loop, context_.metrics, turn, std::move(format),
                                      params.sampling.max_tokens, hooks_of(turn));
  // Before it starts: the client learns of it as queued.
  StoredResponse queued = turn->record(true);
  const std::string told = queued.response;
  const Status started = run->start(context_.parts.service, std::move(choices));
  if (!started.ok()) {
    ApiError error = ApiError::from_status(started);
    if (started.code() == Code::kResourceExhausted) {
      error.retry_after_s = context_.parts.service.retry_after().count();
    }
    transaction.send_error(error);
    return;
  }
  run->set_line(BackgroundLine::begin(transaction, *turn, context_.served_name()));
  live_.add(turn->owner, id);
  runs_.emplace(id, std::move(run));
  context_.life.count_call(1);
  // Shared because a posted function must be copyable; there is one user at a time.
  const auto waiting = std::make_shared<Transaction>(std::move(transaction));
  store_->put(std::move(queued), [this, id, waiting, told](const Status& kept) {
    context_.loop.post([this, id, waiting, told, kept] {
      answer_from_background(id, std::move(*waiting), told, kept);
    });
  });
}

BackgroundRun::Hooks ResponseRuns::hooks_of(const std::shared_ptr<ResponseTurn>& turn) {
  const std::string id = turn->assembler->id();
  BackgroundRun::Hooks hooks;
  hooks.keep = [this, id](StoredResponse response) {
    store_->put(std::move(response), [this, id](const Status& kept) {
      context_.loop.post([this, id, kept] {
        const auto run = runs_.find(id);
        if (run != runs_.end()) {
          run->second->close(kept);
        }
      });
    });
  };
  hooks.on_events = [this, id] { pump_readers(id); };
  hooks.on_done = [this, turn, id] {
    live_.remove(turn->owner, id);
    runs_.erase(id);
    context_.life.count_call(-1);
  };
  return hooks;
}

void ResponseRuns::answer_from_background(const std::string& id, Transaction transaction,
                                          const std::string& queued, const Status& kept) {
  const auto run = runs_.find(id);
  if (!kept.ok()) {
    if (run != runs_.end()) {
      run->second->fail(ApiError::from_status(kept));
    }
    transaction.send_error(ApiError::from_status(kept));
  } else if (run != runs_.end() && run->second->turn().is_streamed) {
    read_events(id, std::move(transaction), run->second->log(), 0);
  } else if (run != runs_.end()) {
    transaction.send(200, "application/json", queued);
  } else {
    transaction.send_error(shutting_down());
  }
}

BackgroundRun* ResponseRuns::find_run(const std::string& owner, const std::string& id) const {
  const auto run = runs_.find(id);
  return run != runs_.end() && run->second->turn().owner == owner ? run->second.get() : nullptr;
}

void ResponseRuns::end(const std::string& owner, const std::string& id) {
  if (BackgroundRun* run = find_run(owner, id)) {
    run->cancel();
  }
  if (!is_live(owner, id)) {
    return;
  }
  const auto call = response_calls_.find(id);
  if (call == response_calls_.end()) {
    return;
  }
  if (Call* found = calls_.find(call->second)) {
    found->fail(
        ApiError::from_status({Code::kCancelled, "the response was deleted while it was made"}));
  }
}

void ResponseRuns::abort(const AbortTarget& target) {
  const std::string owner = owner_of(target.principal);
  for (auto& [id, run] : runs_) {
    const ResponseTurn& turn = run->turn();
    if (target.is_all || ((id == target.id || turn.request_id == target.id) &&
                          (target.is_anyones || turn.owner == owner))) {
      run->fail(request_aborted());
    }
  }
}

void ResponseRuns::end_all() {
  for (auto& [id, run] : runs_) {
    run->fail(ApiError::from_status({Code::kCancelled, "the server is shutting down"}));
  }
}

void ResponseRuns::read_events(const std::string& id, Transaction transaction,
                               std::shared_ptr<const EventLog> log, std::int64_t first) {
  const std::uint64_t number = next_reader_++;
  EventReader::Hooks hooks;
  hooks.on_done = [this, id, number] {
    const auto of_response = readers_.find(id);
    of_response->second.erase(number);
    if (of_response->second.empty()) {
      readers_.erase(of_response);
    }
  };
  if (log == nullptr) {
    const std::string owner = owner_of(transaction.principal);
    hooks.more = [this, owner, id, number](std::int64_t event) {
      fetch_events(owner, id, number, event);
    };
  }
  auto reader = std::make_unique<EventReader>(context_.loop, std::move(transaction), std::move(log),
                                              first, context_.options.heartbeat, std::move(hooks));
  EventReader& started = *readers_[id].emplace(number, std::move(reader)).first->second;
  started.start();
}

// A reader holds one page of a kept response's events at a time.
void ResponseRuns::fetch_events(const std::string& owner, const std::string& id,
                                std::uint64_t reader, std::int64_t event) {
  const auto give = [this, id, reader, event](Result<ResponseStore::FoundPage>& page) {
    const auto of_response = readers_.find(id);
    if (of_response == readers_.end()) {
      return;  // its client has left
    }
    const auto waiting = of_response->second.find(reader);
    if (waiting == of_response->second.end()) {
      return;
    }
    if (!page.ok() || !page.value().has_value()) {
      waiting->second->cut();
      return;
    }
    EventPage& part = *page.value();
    const auto log = std::make_shared<EventLog>(std::move(part.events), part.first, part.is_last);
    if (log->end() <= event && !part.is_last) {  // it would be asked for again and again
      log_error("response store: what is kept as events of " + id + " is none");
      waiting->second->cut();
      return;
    }
    waiting->second->go_on(log);
  };
  store_->event_page(owner, id, event, [this, give](Result<ResponseStore::FoundPage> found) {
    // Shared because a posted function must be copyable; there is one user at a time.
    const auto page = std::make_shared<Result<ResponseStore::FoundPage>>(std::move(found));
    context_.loop.post([give, page] { give(*page); });
  });
}

void ResponseRuns::pump_readers(const std::string& id) {
  const auto of_response = readers_.find(id);
  if (of_response == readers_.end()) {
    return;
  }
  for (auto& [number, reader] : of_response->second) {
    reader->pump();
  }
}

}  // namespace plumb
