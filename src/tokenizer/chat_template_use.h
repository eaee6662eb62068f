// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

namespace jinja {
struct Program;
}

/// What a chat template does with its input, read from its syntax tree.
struct ChatTemplateUse {
  /// It walks over the parts of a message's content, so that a list of parts may stay a list.
  bool iterates_content = false;
  /// It uses the arguments of a tool call as an object rather than as text.
  bool arguments_are_object = false;
  bool knows_developer_role = false;
};

ChatTemplateUse find_use(const jinja::Program& program);

}  // namespace plumb
