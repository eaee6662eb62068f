// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_template.h"

#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_ast.h"
#include "tokenizer/jinja_interpreter.h"
#include "tokenizer/jinja_json.h"
#include "tokenizer/jinja_methods.h"

namespace plumb {

namespace {

std::vector<TextSegment> segments_of(const jinja::StrBuf& text) {
  std::vector<TextSegment> out;
  const auto size = static_cast<std::int64_t>(text.own.size());
  std::int64_t begin = 0;
  bool data = false;
  for (const std::uint32_t toggle : text.toggles) {
    if (toggle > begin) {
      out.push_back({begin, toggle, data});
    }
    begin = toggle;
    data = !data;
  }
  if (size > begin) {
    out.push_back({begin, size, data});
  }
  return out;
}

// Messages quote pieces of templates and values, which may have been cut within a character.
Status with_valid_text(const Status& status) {
  return {status.code(), to_valid_utf8(status.message())};
}

}  // namespace

Result<JinjaTemplate> JinjaTemplate::parse(std::string_view source) {
  Result<std::unique_ptr<jinja::Program>> program = jinja::parse_program(source);
  if (!program.ok()) {
    return with_valid_text(program.status());
  }
  return JinjaTemplate(std::shared_ptr<const jinja::Program>(std::move(program).value()));
}

Result<Rendering> JinjaTemplate::render(const JsonObject& variables,
                                        const RenderOptions& options) const {
  jinja::Heap heap(options.max_memory_bytes, options.max_steps);
  const jinja::Trust trust{&options.trusted_roles};
  std::vector<jinja::Value> values;
  values.reserve(program_->names.size());
  for (const std::string& name : program_->names) {
    const Json* json = variables.find(name);
    if (json == nullptr) {
      values.push_back(jinja::find_global(name));
      continue;
    }
    const bool trusted =
        std::find(options.trusted_variables.begin(), options.trusted_variables.end(), name) !=
        options.trusted_variables.end();
    PLUMB_ASSIGN(const jinja::Value value, jinja::value_from_json(*json, !trusted, trust, heap));
    values.push_back(value);
  }
  jinja::Interpreter interpreter(*program_, heap, {options.max_output_bytes, options.max_depth},
                                 options.now);
  const Status status = interpreter.run(std::move(values));
  if (!status.ok()) {
    return with_valid_text(status);
  }
  Rendering out;
  out.text = interpreter.output().buffer().own;
  out.segments = segments_of(interpreter.output().buffer());
  for (const jinja::TextRange& range : interpreter.generations()) {
    out.generations.push_back({range.begin, range.end});
  }
  return out;
}

}  // namespace plumb
