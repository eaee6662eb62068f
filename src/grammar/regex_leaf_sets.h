// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "grammar/byte_set.h"
#include "grammar/regex_set.h"

namespace plumb {

/// Byte sets that tell apart what an automaton tells apart.
void add_automaton_sets(const std::vector<RegexSet::AutomatonState>& states,
                        std::vector<ByteSet>* sets);
/// Byte sets that tell apart what the escapes of JSON tell apart.
void add_json_text_sets(std::vector<ByteSet>* sets);

}  // namespace plumb
