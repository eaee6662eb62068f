// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/json.h"
#include "grammar/json_schema_terms.h"

namespace plumb {

/// Equality as JSON Schema has it: 1 and 1.0 are equal, the order of members does not matter.
bool json_schema_equal(const Json& a, const Json& b);

/// Adds to *values every value that can satisfy the goal, and perhaps others, each once.
///
/// Returns  false if they are not known to be few.
bool add_finite_values(JsonSchemaTerms* terms, GoalId goal, std::vector<const Json*>* values);

}  // namespace plumb
