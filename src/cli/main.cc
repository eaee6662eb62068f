// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "cli/command.h"
#include "cli/version.h"

namespace plumb {

namespace {

// Finds or makes the group of "model inspect".
CLI::App* group_of(CLI::App& app, std::string* name) {
  const std::size_t space = name->find(' ');
  if (space == std::string::npos) {
    return &app;
  }
  const std::string group = name->substr(0, space);
  name->erase(0, space + 1);
  const std::vector<CLI::App*> groups =
      app.get_subcommands([&](CLI::App* sub) { return sub->get_name() == group; });
  CLI::App* found = groups.empty() ? nullptr : groups.front();
  if (found == nullptr) {
    found = app.add_subcommand(group, group + " commands");
    found->require_subcommand(1);
  }
  return found;
}

int finish(Command& command) {
  if (command.violations().empty()) {
    return command.run();
  }
  for (const Status& violation : command.violations()) {
    std::fprintf(stderr, "plumb: %s\n", violation.message().c_str());
  }
  return kExitUsage;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Plumb serves language models: OpenAI-compatible HTTP, chat, offline batches, checks and "
      "benchmarks."};
  app.name("plumb");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  std::vector<std::unique_ptr<Command>> commands = all_commands();
  Command* chosen = nullptr;
  for (const std::unique_ptr<Command>& command : commands) {
    std::string name = command->name();
    CLI::App* group = group_of(app, &name);
    CLI::App* sub = group->add_subcommand(name, command->about());
    command->declare(*sub);
    sub->callback([&chosen, raw = command.get()] { chosen = raw; });
  }
  try {  // the command line library reports through exceptions
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return chosen == nullptr ? static_cast<int>(kExitUsage) : finish(*chosen);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return plumb::run(argc, argv);
}
