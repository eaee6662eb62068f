// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

// What --help shows as the value that an absent flag has; empty = nothing worth showing.
std::string default_text(const BoundOption& option) {
  const Json value = option.get();
  if (value.is_null() || (value.is_array() && value.as_array().empty())) {
    return {};
  }
  return value.is_string() ? value.as_string() : to_text(value);
}

}  // namespace

std::vector<Status> Command::violations() const {
  std::vector<Status> all = refused_;
  check(&all);
  return all;
}

void Command::add_bound(CLI::App& app, std::vector<BoundOption> options, Environment environment) {
  bound_.push_back(std::make_unique<std::vector<BoundOption>>(std::move(options)));
  add_options(app, *bound_.back(), &refused_, environment);
  for (const BoundOption& option : *bound_.back()) {
    CLI::Option* added = app.get_option_no_throw("--" + option.flag);
    if (option.kind == OptionKind::kBool) {
      added->default_str(option.get().as_bool() ? "on" : "off");
    } else if (!option.is_secret) {
      added->default_str(default_text(option));
    }
  }
}

void Command::add_model(CLI::App& app, std::string& model) {
  app.add_option("MODEL", model,
                 "GGUF file, Hugging Face folder, or a name from `plumb model list`")
      ->required();
}

void Command::add_choice(CLI::App& app, std::string& value, const char* flag, const char* help,
                         std::vector<std::string> names) {
  const std::string range = join(names, "|");
  add_bound(app,
            {{.flag = flag,
              .help = help,
              .kind = OptionKind::kChoice,
              .range = range,
              .choices = names,
              .is_secret = false,
              .set =
                  [&value, names, range](const Json& json) {
                    if (!json.is_string() ||
                        std::find(names.begin(), names.end(), json.as_string()) == names.end()) {
                      return Status{Code::kInvalidArgument,
                                    to_text(json).substr(0, 64) + ", expected " + range};
                    }
                    value = json.as_string();
                    return Status();
                  },
              .get = [&value] { return Json(value); }}},
            Environment::kIgnored);
}

void Command::add_path(CLI::App& app, std::string& value, const char* flag, const char* help) {
  add_bound(app,
            {{.flag = flag,
              .help = help,
              .kind = OptionKind::kPath,
              .range = "",
              .choices = {},
              .is_secret = false,
              .set = [&value](const Json& json) { return option_detail::read_text(json, &value); },
              .get = [&value] { return Json(value); }}},
            Environment::kIgnored);
}

int report(const Status& status) {
  std::fprintf(stderr, "plumb: %s\n", status.message().c_str());
  const bool is_temporary =
      status.code() == Code::kUnavailable || status.code() == Code::kDeviceLost;
  return is_temporary ? kExitTemporary : kExitFailed;
}

int print(std::string_view text) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return kExitOk;
  }
  std::fprintf(stderr, "plumb: cannot write to standard output: %s\n",
               std::generic_category().message(errno).c_str());
  return kExitFailed;
}

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_serve_command());
  commands.push_back(make_chat_command());
  commands.push_back(make_generate_command());
  commands.push_back(make_tokenize_command());
  commands.push_back(make_template_command());
  commands.push_back(make_model_list_command());
  commands.push_back(make_model_fetch_command());
  commands.push_back(make_model_inspect_command());
  commands.push_back(make_model_dummy_command());
  commands.push_back(make_check_op_command());
  commands.push_back(make_check_logits_command());
  commands.push_back(make_bench_batch_command());
  commands.push_back(make_bench_step_command());
  commands.push_back(make_reference_command());
  commands.push_back(make_doctor_command());
  commands.push_back(make_completion_command());
  return commands;
}

}  // namespace plumb
