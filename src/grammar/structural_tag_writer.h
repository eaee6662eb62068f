// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/json_schema.h"
#include "grammar/structural_tag.h"

namespace plumb {

class Tokenizer;

struct StructuralTagOptions {
  /// Of the schemas in it.
  JsonSchemaOptions json;
  /// Finds the tokens that it names; nullptr: it may name none.
  const Tokenizer* tokenizer = nullptr;
  /// As NotationOptions::join_regular, of the grammars in it.
  bool join_regular = true;
};

/// The texts of a structural tag as a grammar; see docs/reference/structural_tags.md.
///
/// Free text is well-formed UTF-8. It goes on to the first text that ends it, wherever that begins;
/// what else a text could be read as does not count. What `lenient` drops is put into *ignored,
/// each as "NAME: KEYWORD at JSON-POINTER", where the path stands for a schema without a name.
/// Errors  kInvalidArgument, kUnsupported: name the path of the field, or the schema;
///         kResourceExhausted, kDeadlineExceeded from the budget.
Result<Cfg> write_structural_tag(const TagFormat& root, const StructuralTagOptions& options,
                                 CompileBudget* budget,
                                 std::vector<std::string>* ignored = nullptr);

}  // namespace plumb
