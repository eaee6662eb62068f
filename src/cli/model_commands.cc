// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "checkpoint/inspect.h"
#include "checkpoint/synthesize.h"
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/fetch.h"
#include "cli/progress.h"
#include "cli/signals.h"

namespace plumb {
namespace {

class ListCommand final : public Command {
 public:
  const char* name() const override { return "model list"; }

  const char* about() const override { return "List the models that can be fetched by name"; }

  void declare(CLI::App& app) override { add_value(app, json_, "json", "print JSON"); }

  int run() override {
    if (json_) {
      return print(to_pretty_text(models_to_json()) + "\n");
    }
    std::vector<std::vector<std::string>> rows;
    for (const CatalogueEntry& entry : catalogue()) {
      rows.push_back({std::string(entry.name),
                      bytes_to_text(static_cast<std::uint64_t>(entry.num_bytes)),
                      is_fetched(entry) ? "fetched" : "", std::string(entry.about)});
    }
    return print(table_text(rows));
  }

 private:
  bool json_ = false;
};

class FetchCommand final : public Command {
 public:
  const char* name() const override { return "model fetch"; }

  const char* about() const override { return "Download a model of the list and check its digest"; }

  void declare(CLI::App& app) override {
    app.add_option("NAME", name_, "see `plumb model list`; needs python3 with pip")->required();
  }

  int run() override {
    const CatalogueEntry* entry = find_in_catalogue(name_);
    if (entry == nullptr) {
      return report({Code::kNotFound, "unknown model '" + name_ +
                                          "'; `plumb model list` names those that can be fetched"});
    }
    catch_stop_signals(SecondSignal::kEnds);
    const Result<std::string> path = fetch_model(*entry, stop_requested());
    if (stop_requested().load()) {
      return kExitInterrupted;
    }
    if (!path.ok()) {
      return report(path.status());
    }
    return print(path.value() + "\n");
  }

 private:
  std::string name_;
};

class InspectCommand final : public Command {
 public:
  const char* name() const override { return "model inspect"; }

  const char* about() const override { return "Show header, metadata and tensors of a checkpoint"; }

  void declare(CLI::App& app) override {
    app.add_option("FILE", path_,
                   "GGUF file, safetensors file, Hugging Face folder, or a fetched name")
        ->required();
    add_value(app, json_, "json", "print JSON");
  }

  int run() override {
    const Result<std::string> path = resolve_model(path_);
    if (!path.ok()) {
      return report(path.status());
    }
    const Result<std::unique_ptr<Checkpoint>> checkpoint = Checkpoint::open(path.value());
    if (!checkpoint.ok()) {
      return report(checkpoint.status());
    }
    const Inspection inspection = inspect(*checkpoint.value());
    if (json_) {
      return print(to_pretty_text(inspection.json) + "\n");
    }
    return print(table_text(inspection.summary) + "\n" + table_text(inspection.metadata) + "\n" +
                 table_text(inspection.tensors));
  }

 private:
  std::string path_;
  bool json_ = false;
};

class DummyCommand final : public Command {
 public:
  const char* name() const override { return "model dummy"; }

  const char* about() const override {
    return "Write a checkpoint with random weights from a seed";
  }

  void declare(CLI::App& app) override {
    app.add_option("OUTPUT", output_, "GGUF file, or a folder with --format hf")->required();
    add_choice(app, preset_, "preset", "shape", synthesis_preset_names());
    add_value(app, arch_, "arch", "family instead of the preset's: llama, qwen2, qwen3, gemma3");
    add_value(app, quant_, "quant", "F32, F16, BF16, Q8_0, Q4_0, … or a mix such as Q4_K_M");
    add_value(app, layers_, "layers", "number of layers; 0 = the preset's", 0, 1 << 12);
    add_value(app, vocab_, "vocab", "vocabulary size; 0 = the preset's", 0, 1 << 24);
    add_value(app, context_, "context", "context length; 0 = the preset's", 0, 1 << 24);
    add_value(app, seed_, "seed", "seed of the weights");
    add_value(app, echo_, "echo",
              "answer with the text of the last message (or the prompt), for tests of formats");
    add_choice(app, format_, "format", "a GGUF file or a Hugging Face folder", {"gguf", "hf"});
    add_value(app, shard_bytes_, "shard-bytes",
              "largest file of --format hf, where no single tensor is larger; 0 = one file", 0);
  }

  int run() override {
    // What is there may be a model that took long to make, or a folder with other shards.
    if (file_exists(output_)) {
      return report(
          {Code::kInvalidArgument, output_ + ": exists; give another OUTPUT, or delete it first"});
    }
    Progress progress("writing");
    const auto on_progress = [&](std::uint64_t done, std::uint64_t total) {
      progress.update(done, total);
      return stop_requested().load() ? Status{Code::kCancelled, "interrupted"} : Status();
    };
    catch_stop_signals(SecondSignal::kEnds);
    const std::uint64_t shard_bytes =
        shard_bytes_ > 0 ? static_cast<std::uint64_t>(shard_bytes_) : ~std::uint64_t{0};
    const Status status = format_ == "hf"
                              ? synthesize_folder(spec(), output_, shard_bytes, on_progress)
                              : synthesize_gguf(spec(), output_, on_progress);
    progress.finish();
    if (stop_requested().load()) {
      return kExitInterrupted;
    }
    return status.ok() ? static_cast<int>(kExitOk) : report(status);
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    if (Status status = validate(spec()); !status.ok()) {
      violations->push_back(std::move(status));
    }
    if (format_ == "gguf" && shard_bytes_ > 0) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--shard-bytes: goes with --format hf; a GGUF model is one file");
    }
    if (format_ == "hf" && echo_) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--echo: is kept in the metadata of a GGUF file; leave out "
                               "--format hf");
    }
    if (format_ == "hf" && quant_ != "F32" && quant_ != "F16" && quant_ != "BF16") {
      violations->emplace_back(
          Code::kInvalidArgument,
          "--quant: a Hugging Face folder holds F32, F16 or BF16, not " + quant_.substr(0, 64));
    }
  }

 private:
  SynthesisSpec spec() const {
    SynthesisSpec spec = *synthesis_preset(preset_);  // the flag takes known names only
    if (!arch_.empty()) {
      spec.architecture = arch_;
    }
    if (layers_ > 0) {
      spec.num_layers = layers_;
    }
    if (vocab_ > 0) {
      spec.vocab_size = vocab_;
    }
    if (context_ > 0) {
      spec.context_len = context_;
    }
    spec.quant = quant_;
    spec.seed = seed_;
    spec.echoes = echo_;
    return spec;
  }

  std::string output_;
  std::string preset_ = "tiny-llama";
  std::string arch_;
  std::string quant_ = "F32";
  std::string format_ = "gguf";
  std::int64_t layers_ = 0;
  std::int64_t vocab_ = 0;
  std::int64_t context_ = 0;
  std::uint64_t seed_ = 1;
  std::int64_t shard_bytes_ = 0;
  bool echo_ = false;
};

}  // namespace

std::unique_ptr<Command> make_model_list_command() {
  return std::make_unique<ListCommand>();
}

std::unique_ptr<Command> make_model_fetch_command() {
  return std::make_unique<FetchCommand>();
}

std::unique_ptr<Command> make_model_inspect_command() {
  return std::make_unique<InspectCommand>();
}

std::unique_ptr<Command> make_model_dummy_command() {
  return std::make_unique<DummyCommand>();
}

}  // namespace plumb
