// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/version.h"

namespace plumb {

namespace {

constexpr const char* kGroups[][2] = {
    {"model", "List, fetch, inspect and make models"},
    {"check", "Compare results with the reference"},
    {"bench", "Measure speed"},
};

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 failed; 2 the command line is wrong; 3 a check found a difference;\n"
    "75 not now, try again; 128 + N ended by signal N (130 after Ctrl-C).\n"
    "BYTES take KiB, MiB, GiB (1.5GiB) or KB, MB, GB; times take ms, s, m, h (250ms),\n"
    "a bare number is seconds.\n"
    "`plumb reference` prints the page of all options and their environment variables.";

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
  if (!groups.empty()) {
    return groups.front();
  }
  std::string about;
  for (const auto& known : kGroups) {
    about = group == known[0] ? known[1] : about;
  }
  CLI::App* found = app.add_subcommand(group, about);
  found->require_subcommand(1);
  return found;
}

// "plumb model inspect": the deepest command that the line names.
std::string command_line_of(const CLI::App& app, const CLI::App** deepest) {
  std::string line = app.get_name();
  *deepest = &app;
  while (!(*deepest)->get_subcommands().empty()) {
    *deepest = (*deepest)->get_subcommands().front();
    line += " " + (*deepest)->get_name();
  }
  return line;
}

// "unknown option '--max-num-seq'; did you mean '--max-num-seqs'?"
std::string unknown_option(const CLI::App& command, const std::string& word) {
  const std::string written = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::string nearest = nearest_name(written, names);
  return "unknown option '" + written.substr(0, 64) + "'" +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
}

// "unknown command 'serv'; did you mean 'serve'?"
std::string unknown_command(const CLI::App& group, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : group.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
  }
  const std::string nearest = nearest_name(word, names);
  return "unknown command '" + word.substr(0, 64) + "'" +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
}

// What the parser says, except that it names no unknown command, as it only misses a known one, and
// lists all that follows an unknown option.
std::string problem_of(const CLI::App& deepest, const CLI::ParseError& error) {
  const std::vector<std::string> rest = deepest.remaining();
  const bool is_group = deepest.get_require_subcommand_min() > 0;
  const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (rest.empty() || !(is_group || is_extra)) {
    return error.what();
  }
  const auto option = std::find_if(rest.begin(), rest.end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  });
  if (option != rest.end()) {
    return unknown_option(deepest, *option);
  }
  return is_group ? unknown_command(deepest, rest.front())
                  : "unexpected argument '" + rest.front().substr(0, 64) + "'";
}

// Prints what the parser and the options found wrong, or help or version when that was asked for.
int report_usage(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::unique_ptr<Command>>& commands) {
  const CLI::App* deepest = nullptr;
  const std::string line = command_line_of(app, &deepest);
  const bool is_unknown =  // `plumb serv --help` asks for the help of something
      deepest->get_require_subcommand_min() > 0 && !deepest->remaining().empty();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success) && !is_unknown) {
    return app.exit(error);
  }
  for (const std::unique_ptr<Command>& command : commands) {
    for (const Status& violation : command->violations()) {
      std::fprintf(stderr, "plumb: %s\n", violation.message().c_str());
    }
  }
  std::fprintf(stderr, "plumb: %s\nplumb: `%s --help` lists commands and flags\n",
               problem_of(*deepest, error).c_str(), line.c_str());
  return kExitUsage;
}

int finish(Command& command) {
  const std::vector<Status> violations = command.violations();
  for (const Status& violation : violations) {
    std::fprintf(stderr, "plumb: %s\n", violation.message().c_str());
  }
  return violations.empty() ? command.run() : static_cast<int>(kExitUsage);
}

// Overwrites a key in the memory that other users see as the command line.
void hide_keys(int argc, char** argv) {
  constexpr std::string_view kFlag = "--api-key";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    char* key = nullptr;
    if (word == kFlag && i + 1 < argc) {
      key = argv[i + 1];
    } else if (word.substr(0, kFlag.size()) == kFlag && word.size() > kFlag.size() &&
               word[kFlag.size()] == '=') {
      key = argv[i] + kFlag.size() + 1;
    }
    if (key != nullptr) {
      std::fputs(
          "plumb: a key on the command line can be read by other users; prefer "
          "--api-key-file or PLUMB_API_KEY\n",
          stderr);
      std::fill(key, key + std::string_view(key).size(), 'x');
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app{
      "Plumb serves language models: OpenAI-compatible HTTP, chat, offline batches, checks and "
      "benchmarks."};
  app.name("plumb");
  app.set_version_flag("-V,--version", version_text());
  app.footer(kFooter);
  use_short_help(app);
  app.require_subcommand(1);
  const std::vector<std::unique_ptr<Command>> commands = all_commands();
  Command* chosen = nullptr;
  for (const std::unique_ptr<Command>& command : commands) {
    std::string name = command->name();
    CLI::App* group = group_of(app, &name);
    CLI::App* sub = group->add_subcommand(name, command->about());
    command->declare(*sub);
    sub->callback([&chosen, raw = command.get()] { chosen = raw; });
  }
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (!words.empty() && words.front() == "help") {  // `plumb help serve` is `plumb serve --help`
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());  // as the parser takes them
  try {                                      // the command line library reports through exceptions
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, commands);
  }
  hide_keys(argc, argv);
  return chosen == nullptr ? static_cast<int>(kExitUsage) : finish(*chosen);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ,
              SIG_IGN);  // beyond the largest size of a file, a write fails as on a full disk
  return plumb::run(argc, argv);
}
