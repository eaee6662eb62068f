// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cli/command.h"

namespace plumb {

std::unique_ptr<Command> make_serve_command();
std::unique_ptr<Command> make_chat_command();
std::unique_ptr<Command> make_tokenize_command();
std::unique_ptr<Command> make_template_command();
std::unique_ptr<Command> make_model_fetch_command();
std::unique_ptr<Command> make_model_list_command();
std::unique_ptr<Command> make_model_inspect_command();
std::unique_ptr<Command> make_model_dummy_command();
std::unique_ptr<Command> make_check_op_command();
std::unique_ptr<Command> make_check_logits_command();
std::unique_ptr<Command> make_bench_batch_command();
std::unique_ptr<Command> make_bench_step_command();
std::unique_ptr<Command> make_generate_command();
std::unique_ptr<Command> make_reference_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_completion_command();

}  // namespace plumb
