// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema.h"

#include "grammar/json_schema_document.h"
#include "grammar/json_schema_terms.h"
#include "grammar/json_schema_writer.h"

namespace plumb {

Result<JsonSchemaGrammar> compile_json_schema(std::string_view schema,
                                              const JsonSchemaOptions& options,
                                              CompileBudget* budget) {
  PLUMB_ASSIGN(const std::unique_ptr<JsonSchemaDocument> document,
               JsonSchemaDocument::parse(schema, options));
  JsonSchemaGrammar grammar;
  JsonSchemaTerms terms(document.get(), &grammar.cfg.regexes(), options, budget);
  JsonSchemaWriter writer(&terms);
  writer.write(terms.goal({terms.schema(document->root(), DynamicScopeId::kEmpty)}), &grammar.cfg);
  if (terms.failed()) {
    return terms.status();
  }
  grammar.ignored = std::move(document->ignored());
  return grammar;
}

}  // namespace plumb
