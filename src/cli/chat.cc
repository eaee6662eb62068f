// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/chat_model.h"
#include "cli/commands.h"
#include "cli/line_reader.h"
#include "cli/serving.h"
#include "cli/signals.h"

namespace plumb {
namespace {

constexpr const char* kHelp =
    "  /system TEXT   set the system prompt and start over (without TEXT: show it)\n"
    "  /reset         forget the conversation\n"
    "  /stats         tokens and speed of the last answer\n"
    "  /help          this list\n"
    "  /quit, /exit   end (also Ctrl-D)\n"
    "  Ctrl-C         stop the answer\n";

// "127.0.0.1:8000": of a server, without the scheme that says so.
bool is_bare_address(std::string_view model) {
  const std::string_view host = model.substr(0, model.find('/'));
  const std::size_t colon = host.rfind(':');
  std::int64_t port = 0;
  return colon != std::string_view::npos && colon > 0 &&
         parse_int64(host.substr(colon + 1), &port) && port > 0 && port <= 65535 &&
         !file_exists(std::string(model));
}

class ChatCommand final : public Command {
 public:
  const char* name() const override { return "chat"; }

  const char* about() const override { return "Talk to a model in the terminal"; }

  void declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("MODEL", serving_.model,
                   "model, or the http:// or https:// address of a running server")
        ->capture_default_str();
    add_value(app, system_, "system", "system prompt");
    add_optional(app, sampling_.temperature, "temperature",
                 "0 takes the most likely token; default: the model's", 0, 2);
    add_optional(app, sampling_.top_p, "top-p",
                 "nucleus of the most likely tokens; default: the model's", 0, 1);
    add_value(app, sampling_.max_tokens, "max-tokens", "longest answer; 0 = what the context holds",
              0, 1 << 30);
    add_optional(app, sampling_.seed, "seed", "makes answers repeatable");
    add_path(app, api_key_file_, "api-key-file", "file with the key of the server");
    add_struct(app, serving_.engine);
    add_struct(app, serving_.engine.scheduler);
    add_struct(app, serving_.layout);
    add_struct(app, serving_.backend);
  }

  int run() override {
    if (is_bare_address(serving_.model)) {
      return report({Code::kInvalidArgument, "model '" + serving_.model.substr(0, 128) +
                                                 "' is no file; did you mean http://" +
                                                 serving_.model.substr(0, 128) + "?"});
    }
    Result<std::unique_ptr<ChatModel>> model =
        is_remote() ? connect_chat_model(serving_.model, api_key_file_) : load_chat_model(serving_);
    if (!model.ok()) {
      return report(model.status());
    }
    model_ = std::move(model).value();
    catch_stop_signals(SecondSignal::kIsSet);
    is_terminal_ = ::isatty(STDIN_FILENO) == 1;
    if (is_terminal_) {
      std::fprintf(stderr, "Talking to %s. /help lists the commands.\n", model_->name().c_str());
    }
    reset();
    return converse();
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    append_violations(serving_, violations);
    if (!is_remote()) {
      if (!api_key_file_.empty()) {
        violations->emplace_back(Code::kInvalidArgument,
                                 "--api-key-file: goes with the address of a server");
      }
      return;
    }
    ServingOptions copy = serving_;
    std::vector<BoundOption> local = bind_options(copy.engine);
    bind_options(copy.engine.scheduler, &local);
    bind_options(copy.layout, &local);
    bind_options(copy.backend, &local);
    for (const BoundOption& option : local) {
      const CLI::Option* parsed = app_->get_option_no_throw("--" + option.flag);
      // The environment may hold it for other commands.
      if (parsed != nullptr && parsed->count() > 0 &&
          // NOLINTNEXTLINE(concurrency-mt-unsafe): no setenv
          std::getenv(parsed->get_envname().c_str()) == nullptr) {
        violations->emplace_back(Code::kInvalidArgument,
                                 "--" + option.flag +
                                     ": is for a model in this process; the server " +
                                     serving_.model + " has its own");
      }
    }
  }

 private:
  bool is_remote() const {
    return serving_.model.starts_with("http://") || serving_.model.starts_with("https://");
  }

  void reset() {
    messages_.clear();
    if (!system_.empty()) {
      messages_.emplace_back(JsonObject{{"role", "system"}, {"content", system_}});
    }
  }

  int converse() {
    std::string line;
    for (;;) {
      if (is_terminal_) {
        std::fputs("> ", stdout);
        std::fflush(stdout);
      }
      const LineReader::Read read = input_.next(&line);
      if (read == LineReader::Read::kStopped) {  // Ctrl-C at the prompt: a fresh line
        std::fputs("\n", stdout);
        continue;
      }
      if (read == LineReader::Read::kEnd) {
        break;
      }
      if (read == LineReader::Read::kTooLong) {
        has_failed_ = true;
        std::fprintf(stderr, "plumb: skipped a line of more than %zu bytes\n",
                     LineReader::kMaxLine);
        continue;
      }
      const std::string_view text = trim(line);
      if (text == "/quit" || text == "/exit") {
        break;
      }
      if (!text.empty() && text.front() == '/') {
        command(text);
      } else if (!text.empty()) {
        answer(std::string(text));
      }
    }
    if (is_terminal_) {
      std::fputs("\n", stdout);
    }
    // A person has seen the errors and has gone on; a script sees the exit code alone.
    return is_terminal_ || !has_failed_ ? print("") : static_cast<int>(kExitFailed);
  }

  void command(std::string_view text) {
    const std::string_view word = text.substr(0, text.find(' '));
    const std::string_view rest = trim(text.substr(word.size()));
    if (word == "/reset") {
      reset();
      std::fputs("The conversation is forgotten.\n", stdout);
    } else if (word == "/system" && rest.empty()) {
      std::printf("%s\n", system_.empty() ? "(none)" : system_.c_str());
    } else if (word == "/system") {
      system_ = rest;
      reset();
      std::fputs("System prompt set; the conversation starts over.\n", stdout);
    } else if (word == "/stats") {
      print_stats();
    } else if (word == "/help") {
      std::fputs(kHelp, stdout);
    } else {
      std::printf("unknown command %s; /help lists the commands\n", std::string(word).c_str());
    }
  }

  void print_stats() const {
    if (!stats_.has_value()) {
      std::fputs("No answer yet.\n", stdout);
      return;
    }
    const double decode = stats_->seconds - stats_->seconds_to_first;
    std::printf(
        "prompt %lld tokens (%lld cached), first token after %.0f ms; answer %lld tokens, %.1f "
        "tokens/s\n",
        static_cast<long long>(stats_->usage.prompt_tokens),
        static_cast<long long>(stats_->usage.cached_tokens), stats_->seconds_to_first * 1e3,
        static_cast<long long>(stats_->usage.completion_tokens),
        decode > 0 ? static_cast<double>(stats_->usage.completion_tokens - 1) / decode : 0.0);
  }

  void answer(std::string text) {
    messages_.emplace_back(JsonObject{{"role", "user"}, {"content", std::move(text)}});
    stop_requested().store(false);
    std::string reply;
    const auto on_text = [&](std::string_view piece) {
      reply += piece;
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
    const Result<ChatStats> stats = model_->answer(messages_, sampling_, on_text, stop_requested());
    const bool is_stopped = stop_requested().exchange(false);
    if (is_stopped || stats.ok() || !reply.empty()) {
      std::fputs(is_stopped ? " [stopped]\n" : "\n", stdout);
      std::fflush(stdout);
    }
    if (!stats.ok()) {
      has_failed_ = true;
      messages_.pop_back();
      std::fprintf(stderr, "plumb: %s\n", stats.status().message().c_str());
      return;
    }
    stats_ = stats.value();
    messages_.emplace_back(JsonObject{{"role", "assistant"}, {"content", std::move(reply)}});
  }

  CLI::App* app_ = nullptr;
  ServingOptions serving_{.model = "smollm2-135m-instruct"};
  ChatSampling sampling_;
  std::string system_;
  std::string api_key_file_;
  std::unique_ptr<ChatModel> model_;
  JsonArray messages_;
  std::optional<ChatStats> stats_;
  LineReader input_{STDIN_FILENO};
  bool has_failed_ = false;
  bool is_terminal_ = false;
};

}  // namespace

std::unique_ptr<Command> make_chat_command() {
  return std::make_unique<ChatCommand>();
}

}  // namespace plumb
