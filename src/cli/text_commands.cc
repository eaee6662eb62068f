// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/file.h"
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/loaded_model.h"
#include "cli/rfc3339.h"
#include "tokenizer/jinja_template.h"

namespace plumb {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

class TokenizeCommand final : public Command {
 public:
  const char* name() const override { return "tokenize"; }

  const char* about() const override {
    return "Read one JSON string a line from standard input, print one array of token ids a line";
  }

  void declare(CLI::App& app) override {
    options_.add_special = false;
    add_model(app, model_);
    add_value(app, options_.add_special, "add-special", "add the tokens that begin and end a text");
    add_value(app, options_.parse_special, "parse-special",
              "read texts of control tokens as those tokens");
    add_value(app, json_, "json", "changes nothing: the output is JSON in any case");
    add_value(app, with_pieces_, "pieces",
              "print {\"ids\",\"pieces\"} instead of the array of ids");
  }

  int run() override {
    const Result<std::string> path = resolve_model(model_);
    if (!path.ok()) {
      return report(path.status());
    }
    const Result<std::unique_ptr<Checkpoint>> checkpoint = Checkpoint::open(path.value());
    if (!checkpoint.ok()) {
      return report(checkpoint.status());
    }
    const Result<std::unique_ptr<Tokenizer>> tokenizer = load_tokenizer(*checkpoint.value());
    if (!tokenizer.ok()) {
      return report(std::move(tokenizer.status()).with(path.value()));
    }
    return convert(*tokenizer.value());
  }

 private:
  int convert(const Tokenizer& tokenizer) {
    std::ios::sync_with_stdio(
        false);  // reads blocks, and knows when the next line is not there yet
    std::string line;
    std::string out;
    std::int64_t number = 0;
    while (std::getline(std::cin, line)) {
      ++number;
      const Result<Json> text = parse_json(line);
      if (!text.ok() || !text.value().is_string()) {
        const std::string why = text.ok() ? "not a JSON string" : text.status().message();
        print(out);
        return report(
            {Code::kInvalidArgument, "standard input line " + std::to_string(number) + ": " + why});
      }
      out += line_of(tokenizer, tokenizer.encode(text.value().as_string(), options_)) + "\n";
      // A partner that waits for this answer before it writes on gets it now.
      if (out.size() > kBufferBytes || std::cin.rdbuf()->in_avail() <= 0) {
        if (print(out) != kExitOk) {
          return kExitFailed;
        }
        out.clear();
      }
    }
    return print(out);
  }

  std::string line_of(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) const {
    JsonArray array;
    JsonArray pieces;
    for (const TokenId id : ids) {
      array.emplace_back(id);
      if (with_pieces_) {
        pieces.emplace_back(std::string(tokenizer.token_text(id)));
      }
    }
    return with_pieces_
               ? to_text(JsonObject{{"ids", std::move(array)}, {"pieces", std::move(pieces)}})
               : to_text(array);
  }

  std::string model_;
  EncodeOptions options_;
  bool json_ = false;
  bool with_pieces_ = false;
};

class TemplateCommand final : public Command {
 public:
  const char* name() const override { return "template"; }

  const char* about() const override {
    return "Render a chat template with the variables of a JSON file";
  }

  void declare(CLI::App& app) override {
    app.add_option("TEMPLATE", source_, "FILE.jinja, or a model whose template is meant")
        ->required();
    app.add_option(
           "--input", input_,
           "JSON file with an object: the template's variables; `now` (RFC 3339) fixes the clock")
        ->required();
  }

  int run() override {
    const Result<std::string> text = render();
    if (!text.ok()) {
      return report(text.status());
    }
    return print(text.value());
  }

 private:
  Result<std::string> template_source() const {
    if (source_.ends_with(".jinja") || source_.ends_with(".j2")) {
      return read_file(source_);
    }
    PLUMB_ASSIGN(const std::string path, resolve_model(source_));
    PLUMB_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::open(path));
    PLUMB_ASSIGN(const std::optional<std::string> source, chat_template_source(*checkpoint));
    if (!source.has_value()) {
      return Status{Code::kNotFound, path + ": has no chat template"};
    }
    return *source;
  }

  Result<std::string> render() const {
    PLUMB_ASSIGN(const std::string source, template_source());
    PLUMB_ASSIGN(const JinjaTemplate parsed, JinjaTemplate::parse(source));
    PLUMB_ASSIGN(const std::string content, read_file(input_));
    Result<Json> variables = parse_json(content);
    if (!variables.ok() || !variables.value().is_object()) {
      return variables.ok() ? Status{Code::kInvalidArgument, input_ + ": is no JSON object"}
                            : variables.status().with(input_);
    }
    RenderOptions options;
    if (const Json* now = variables.value().find("now"); now != nullptr) {
      options.now = now->is_string() ? parse_rfc3339(now->as_string()) : std::nullopt;
      if (!options.now.has_value()) {
        return Status{Code::kInvalidArgument, input_ + ": now is " + to_text(*now).substr(0, 64) +
                                                  ", expected RFC 3339, \"2025-06-30T12:00:00Z\""};
      }
    }
    PLUMB_ASSIGN(const Rendering rendering, parsed.render(variables.value().as_object(), options));
    return rendering.text;
  }

  std::string source_;
  std::string input_;
};

}  // namespace

std::unique_ptr<Command> make_tokenize_command() {
  return std::make_unique<TokenizeCommand>();
}

std::unique_ptr<Command> make_template_command() {
  return std::make_unique<TemplateCommand>();
}

}  // namespace plumb
