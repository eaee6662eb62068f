// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// A response as it is kept: with the items that its request added.
struct StoredResponse {
  std::string id;
  std::string owner;   ///< whose it is, see owner_of(); nobody else finds it
  std::string parent;  ///< id of the response that it goes on from; empty = none
  bool is_running = false;
  std::string response;  ///< JSON object
  std::string inputs;    ///< JSON array: items of this request, without inherited ones
  std::string events;    ///< of a response in the background, as server-sent events; for put() only
  bool has_events = false;  ///< event_page() has them; of one that was found
};

/// Turns one that ran when its server ended into what it is now: failed.
void tell_interrupted(StoredResponse* stored);
/// The same for another reason.
void tell_failed(const std::string& why, StoredResponse* stored);

/// Whether `response` and `inputs` are the JSON that they should be; not so after a change by hand.
bool is_sound(const StoredResponse& stored);

/// The ids of its items of input and output.
std::vector<std::string> item_ids(const StoredResponse& stored);
/// Its item with that id, as JSON; empty if there is none.
std::string item_text(const StoredResponse& stored, std::string_view item_id);

/// Whether a request with that body may name a stored response or item: one that spells its members
/// with escapes counts as well.
bool may_name_stored(std::string_view body);

}  // namespace plumb
