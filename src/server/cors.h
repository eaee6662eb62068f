// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "server/transaction.h"

namespace plumb {

/// Lets a browser read the answer, if its page comes from one of the origins (comma separated, or
/// *).
void add_cors_headers(std::string_view origins, Transaction* transaction);

/// Answers OPTIONS, with which browsers ask before they send; false: it is another method.
bool answer_preflight(Transaction* transaction);

}  // namespace plumb
