// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field_reader.h"
#include "api/tools.h"
#include "base/json.h"

namespace plumb {

/// What a client calls a tool that the model knows under one name.
struct ToolIdentity {
  std::string name;
  std::string name_space{};  ///< empty = none
  bool is_custom = false;    ///< takes one text; the model sees a function with the string `input`

  bool operator==(const ToolIdentity&) const = default;
};

/// The tools of a Responses request: functions, custom tools and namespaces of both, brought into
/// the form of functions with names that differ.
class ResponsesTools {
 public:
  /// Reads a list of tools. Those that only a hosted API could run are left out, and their types
  /// noted. A tool that is there already is not added again if `skips_known`, and is an error later
  /// (check_tool_use()) otherwise.
  void read(FieldReader& fields, const JsonArray& tools, const std::string& path,
            bool skips_known = false);

  /// Reads tool_choice; errors stay in the reader. Requires all tools have been read.
  void read_choice(FieldReader& fields);

  /// Checks the names and the choice.
  void check(FieldReader& fields) const;

  /// What the client calls it; a function without namespace where the name is no tool's.
  ToolIdentity identity_of(std::string_view shown_name) const;

  ToolUse& use() { return use_; }

  const ToolUse& use() const { return use_; }

  /// Types of tools that were left out, each once.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  void read_one(FieldReader& tool, const std::string& name_space, const std::string& list_path,
                bool skips_known);
  void read_namespace(FieldReader& tool, const std::string& list_path, bool skips_known);
  void read_choice_object(FieldReader& choice);
  void read_allowed_tools(FieldReader& choice);
  std::string read_choice_name(FieldReader& choice) const;

  struct Known {
    std::string shown_name;
    ToolIdentity identity;
  };

  ToolUse use_;
  std::vector<Known> known_;
  std::vector<std::string> left_out_;
};

/// The name under which the model knows a tool.
std::string shown_tool_name(std::string_view name, std::string_view name_space);

/// Whether tools of that type run on a hosted API only.
bool is_hosted_tool(std::string_view type);

}  // namespace plumb
