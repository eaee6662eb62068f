// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/token_id.h"
#include "grammar/grammar_matcher.h"

namespace plumb {

/// The tokens of the bytes that must come next, spelled as the vocabulary's tokenizer spells them;
/// empty where several bytes may come. The matcher stays where it is.
///
/// Up to four tokens at the end are left out when a longer token, which the grammar allows too,
/// reaches from there past the forced bytes: the model would be shown a spelling that it never saw.
/// Without a tokenizer, or where it spells the bytes in another way (a blank put in front), there
/// is nothing to say.
std::vector<TokenId> forced_tokens(GrammarMatcher* matcher, std::int64_t max_tokens);

}  // namespace plumb
