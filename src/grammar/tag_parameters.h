// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/json_schema.h"
#include "grammar/structural_tag.h"

namespace plumb {

/// The members of an object as models write the parameters of a call, in the order of the schema:
/// strings as they are, other values as JSON, each between the marks of the style.
///
/// Adds to the grammar; gives the symbol of the parameters, which may be none at all. What
/// `lenient` drops is added to *ignored. Requires style is not kJson. Errors  kInvalidArgument,
/// kUnsupported naming the keyword; those of compile_json_schema().
Result<SymbolId> write_tag_parameters(std::string_view schema, TagStyle style,
                                      const JsonSchemaOptions& options, Cfg* cfg,
                                      CompileBudget* budget, std::vector<std::string>* ignored);

}  // namespace plumb
