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

namespace plumb {
namespace {

class ListCommand final : public Command {
 public:
  const char* name() const override { return "model list"; }

  const char* about() const override { return "List the models that can be fetched by name"; }

  void declare(CLI::App&) override {}

  int run() override {
    for (const CatalogueEntry& entry : catalogue()) {
      const bool is_here = file_exists(model_folder() + "/" + std::string(entry.file_name));
      std::printf("%-24s %-10s %-8s %s\n", std::string(entry.name).c_str(),
                  bytes_to_text(static_cast<std::uint64_t>(entry.num_bytes)).c_str(),
                  is_here ? "fetched" : "", std::string(entry.about).c_str());
    }
    return kExitOk;
  }
};

class FetchCommand final : public Command {
 public:
  const char* name() const override { return "model fetch"; }

  const char* about() const override { return "Download a model of the list and check its digest"; }

  void declare(CLI::App& app) override {
    app.add_option("NAME", name_, "see `plumb model list`")->required();
  }

  int run() override {
    const CatalogueEntry* entry = find_in_catalogue(name_);
    if (entry == nullptr) {
      return report({Code::kNotFound, "unknown model '" + name_ +
                                          "'; `plumb model list` names those that can be fetched"});
    }
    const Result<std::string> path = fetch_model(*entry);
    if (!path.ok()) {
      return report(path.status());
    }
    std::printf("%s\n", path.value().c_str());
    return kExitOk;
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
    app.add_flag("--json", json_, "print JSON");
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
      std::printf("%s\n", to_pretty_text(inspection.json).c_str());
    } else {
      std::printf("%s\n%s\n%s", table_text(inspection.summary).c_str(),
                  table_text(inspection.metadata).c_str(), table_text(inspection.tensors).c_str());
    }
    return kExitOk;
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
    app.add_option("--preset", preset_, "shape: " + join(synthesis_preset_names(), ", "))
        ->capture_default_str();
    app.add_option("--arch", arch_, "family instead of the preset's: llama, qwen2, qwen3, gemma3");
    app.add_option("--quant", quant_, "F32, F16, BF16, Q8_0, Q4_0, … or a mix such as Q4_K_M")
        ->capture_default_str();
    app.add_option("--layers", layers_, "number of layers instead of the preset's");
    app.add_option("--vocab", vocab_, "vocabulary size instead of the preset's");
    app.add_option("--context", context_, "context length instead of the preset's");
    app.add_option("--seed", seed_, "seed of the weights")->capture_default_str();
    app.add_option("--format", format_, "gguf or hf")
        ->capture_default_str()
        ->check(CLI::IsMember({"gguf", "hf"}));
    app.add_option("--shard-bytes", shard_bytes_, "largest file of --format hf");
  }

  int run() override {
    std::optional<SynthesisSpec> spec = synthesis_preset(preset_);
    if (!spec.has_value()) {
      return report({Code::kInvalidArgument, "unknown preset '" + preset_ + "', expected one of " +
                                                 join(synthesis_preset_names(), ", ")});
    }
    apply(&*spec);
    Progress progress("writing");
    const auto on_progress = [&](std::uint64_t done, std::uint64_t total) {
      progress.update(done, total);
    };
    const Status status =
        format_ == "hf"
            ? synthesize_folder(*spec, output_, shard_bytes_ > 0 ? shard_bytes_ : ~std::uint64_t{0},
                                on_progress)
            : synthesize_gguf(*spec, output_, on_progress);
    progress.finish();
    return status.ok() ? static_cast<int>(kExitOk) : report(status);
  }

 private:
  void apply(SynthesisSpec* spec) const {
    if (!arch_.empty()) {
      spec->architecture = arch_;
    }
    if (layers_ > 0) {
      spec->num_layers = layers_;
    }
    if (vocab_ > 0) {
      spec->vocab_size = vocab_;
    }
    if (context_ > 0) {
      spec->context_len = context_;
    }
    spec->quant = quant_;
    spec->seed = seed_;
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
  std::uint64_t shard_bytes_ = 0;
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
