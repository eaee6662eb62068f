// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// What may follow on a command line after one command.
struct CompletionNode {
  std::string path;  ///< "model inspect"; empty = the program itself
  std::vector<std::string> commands;
  std::vector<std::string> command_abouts;  ///< of each command

  struct Flag {
    std::string name;  ///< "--port"
    std::string about;
    bool takes_value = false;
    std::vector<std::string> choices;  ///< of the value; empty = anything
  };

  std::vector<Flag> flags;
  bool takes_model = false;               ///< a positional that is a file or a known name
  std::vector<std::string> model_names;   ///< the known names
  std::vector<std::string> word_choices;  ///< of another positional
};

/// The script that a shell sources. Requires shell is bash, zsh or fish.
std::string completion_script(std::string_view shell, const std::vector<CompletionNode>& nodes);

}  // namespace plumb
