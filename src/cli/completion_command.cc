// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "ops/op_table.h"

namespace plumb {
namespace {

const std::vector<std::string> kShells{"bash", "zsh", "fish"};

// Of a flag that takes one of a few names: the parser shows them as "a|b|c", except where the rules
// of the command say more than a list.
std::vector<std::string> choices_of(const std::string& path, const CLI::Option& option) {
  const std::string& flag = option.get_lnames().front();
  const std::string type_name = option.get_type_name();
  std::vector<std::string> choices;
  if (path == "check op" && flag == "op") {
    const std::vector<std::string_view> ops = op_names();
    choices.assign(ops.begin(), ops.end());
  } else if (path != "check op" && flag == "backend") {
    choices = {"cpu", "ref"};
  } else if (type_name.find('|') != std::string::npos) {
    for (const std::string_view choice : split(type_name, '|')) {
      choices.emplace_back(choice);
    }
  }
  return choices;
}

// Without those that the help leaves out.
std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

CompletionNode node_of(const CLI::App& app, const std::string& path) {
  CompletionNode node;
  node.path = path;
  for (const CLI::App* sub : shown_commands(app)) {
    node.commands.push_back(sub->get_name());
    node.command_abouts.push_back(sub->get_description());
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = option->get_name(true);
      node.takes_model = node.takes_model || name == "MODEL" || name == "TEMPLATE";
    }
    if (option->get_lnames().empty()) {
      continue;
    }
    for (const std::string& flag : option->get_lnames()) {  // a switch has --no-x too
      node.flags.push_back({"--" + flag, option->get_description(),
                            option->get_items_expected_max() > 0, choices_of(path, *option)});
    }
  }
  if (node.takes_model || path == "model fetch" || path == "model inspect") {
    for (const CatalogueEntry& entry : catalogue()) {
      node.model_names.emplace_back(entry.name);
    }
  }
  if (path == "completion") {
    node.word_choices = kShells;
  }
  return node;
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletionNode>* nodes) {
  nodes->push_back(node_of(app, path));
  for (const CLI::App* sub : shown_commands(app)) {
    collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), nodes);
  }
}

class CompletionCommand final : public Command {
 public:
  const char* name() const override { return "completion"; }

  const char* about() const override { return "Print a completion script for a shell"; }

  void declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("SHELL", shell_, "bash, zsh or fish")->required();
  }

  int run() override {
    std::vector<CompletionNode> nodes;
    collect(*app_->get_parent(), "", &nodes);
    return print(completion_script(shell_, nodes));
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    const bool is_known = std::find(kShells.begin(), kShells.end(), shell_) != kShells.end();
    if (!shell_.empty() && !is_known) {
      violations->emplace_back(Code::kInvalidArgument,
                               "unknown shell '" + shell_ + "', expected " + join(kShells, ", "));
    }
  }

 private:
  CLI::App* app_ = nullptr;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() {
  return std::make_unique<CompletionCommand>();
}

}  // namespace plumb
