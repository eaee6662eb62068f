// SPDX-License-Identifier: Apache-2.0
#include "api/kv_event_json.h"

#include "base/digest.h"

namespace plumb {
namespace {

constexpr int kRank = 0;

Json hashes_to_json(const std::vector<BlockHash>& hashes) {
  JsonArray out;
  for (const BlockHash& hash : hashes) {
    out.emplace_back(to_hex(hash));
  }
  return out;
}

Json event_to_json(const KvEvent& event) {
  const std::string medium(to_text(event.medium));
  switch (event.kind) {
    case KvEvent::Kind::kStored: {
      JsonArray tokens;
      for (const TokenId token : event.tokens) {
        tokens.emplace_back(token);
      }
      return JsonArray{"BlockStored",
                       hashes_to_json(event.blocks),
                       event.parent ? Json(to_hex(*event.parent)) : Json(),
                       std::move(tokens),
                       event.block_size,
                       Json(),
                       medium};
    }
    case KvEvent::Kind::kRemoved:
      return JsonArray{"BlockRemoved", hashes_to_json(event.blocks), medium};
    case KvEvent::Kind::kCleared:
      break;
  }
  return JsonArray{"AllBlocksCleared"};
}

Json batch_to_json(std::chrono::system_clock::time_point at, JsonArray events) {
  const std::chrono::duration<double> seconds = at.time_since_epoch();
  return JsonArray{seconds.count(), std::move(events), kRank};
}

}  // namespace

Json to_json(const KvEventBatch& batch) {
  JsonArray events;
  for (const KvEvent& event : batch.events) {
    events.push_back(event_to_json(event));
  }
  return batch_to_json(batch.at, std::move(events));
}

Json kv_resync_json(std::chrono::system_clock::time_point at) {
  KvEvent cleared;
  cleared.kind = KvEvent::Kind::kCleared;
  JsonArray events;
  events.push_back(event_to_json(cleared));
  return batch_to_json(at, std::move(events));
}

}  // namespace plumb
