// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <cstdio>

#include "base/options_cli.h"

namespace plumb {

void Command::add_bound(CLI::App& app, const std::vector<BoundOption>& options) {
  add_options(app, options, &violations_);
}

int report(const Status& status) {
  std::fprintf(stderr, "plumb: %s\n", status.message().c_str());
  return status.code() == Code::kUnavailable ? kExitTemporary : kExitFailed;
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
  commands.push_back(make_reference_command());
  return commands;
}

}  // namespace plumb
