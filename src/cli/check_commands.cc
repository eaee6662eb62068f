// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "check/forward.h"
#include "check/logits.h"
#include "check/op_check.h"
#include "cli/backends.h"
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/serving.h"

namespace plumb {
namespace {

class CheckOpCommand final : public Command {
 public:
  const char* name() const override { return "check op"; }

  const char* about() const override { return "Compare every op of a back end with the reference"; }

  void declare(CLI::App& app) override {
    add_value(app, options_.op, "op", "one op; default: all");
    add_value(app, options_.name, "case", "cases whose name contains this");
    add_choice(app, backend_.backend, "backend", "back end to check", backend_names());
    add_value(app, backend_.threads, "threads", "compute threads; 0 = all usable cores", 0, 1024);
    add_choice(app, tier_, "cpu-tier", "instruction level; auto: the widest there is",
               {"auto", "avx2", "avx512"});
    add_value(app, json_, "json", "print JSON");
  }

  int run() override {
    backend_.cpu_tier = tier_ == "avx2"     ? CpuTier::kAvx2
                        : tier_ == "avx512" ? CpuTier::kAvx512
                                            : CpuTier::kAuto;
    Result<std::unique_ptr<Backend>> checked = make_backend(backend_.backend, backend_);
    Result<std::unique_ptr<Backend>> reference = make_backend("ref", backend_);
    if (!checked.ok() || !reference.ok()) {
      return report(checked.ok() ? reference.status() : checked.status());
    }
    options_.compare = backend_.backend != "meta";
    const Result<OpCheckReport> result =
        run_op_check(*checked.value(), *reference.value(), options_);
    if (!result.ok()) {
      return report(result.status());
    }
    const int printed =
        print((json_ ? to_text(to_json(result.value())) : to_text(result.value())) + "\n");
    return result.value().passed() ? printed : static_cast<int>(kExitMismatch);
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    const std::vector<std::string_view> ops = op_names();
    if (!options_.op.empty() && std::find(ops.begin(), ops.end(), options_.op) == ops.end()) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--op: unknown op '" + options_.op.substr(0, 64) +
                                   "', expected one of " + join({ops.begin(), ops.end()}, ", "));
    }
  }

 private:
  OpCheckOptions options_;
  BackendOptions backend_;
  std::string tier_ = "auto";
  bool json_ = false;
};

class CheckLogitsCommand final : public Command {
 public:
  const char* name() const override { return "check logits"; }

  const char* about() const override {
    return "Compare a model's logits with recorded ones, position by position";
  }

  void declare(CLI::App& app) override {
    add_model(app, model_);
    app.add_option("--ids", ids_, "file with a JSON array of token ids")->required();
    add_path(app, reference_, "reference",
             "float32 logits [T, V], for example of tools/reference_logits.py");
    add_path(app, dump_, "dump", "write the logits as float32 [T, V]");
    add_optional(app, max_kl_, "max-kl",
                 "largest mean KL divergence to --reference in nat: more ends with exit code 3; "
                 "default: only report",
                 0);
    add_value(app, chunk_, "chunk", "tokens computed at a time", 1, 65536);
    add_value(app, json_, "json", "print JSON");
    add_struct(app, layout_);
    add_struct(app, backend_);
  }

  int run() override {
    const Result<LogitsReport> result = compare();
    if (!result.ok()) {
      return report(result.status());
    }
    const int printed =
        print((json_ ? to_text(to_json(result.value())) : to_text(result.value())) + "\n");
    // Not a number is no small divergence.
    const bool is_close = !max_kl_.has_value() || result.value().mean_kl <= *max_kl_;
    return is_close ? printed : static_cast<int>(kExitMismatch);
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    append_violations(backend_, violations);
    append_violations(layout_, violations);
    if (max_kl_.has_value() && reference_.empty()) {
      violations->emplace_back(Code::kInvalidArgument, "--max-kl: goes with --reference");
    }
  }

 private:
  Result<LogitsReport> compare() {
    PLUMB_ASSIGN(const std::string path, resolve_model(model_));
    PLUMB_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::open(path));
    PLUMB_ASSIGN(const std::vector<TokenId> ids, read_ids(ids_));
    PLUMB_ASSIGN(const BackendSet backends, make_backends(backend_));
    PLUMB_ASSIGN(const std::unique_ptr<Model> model,
                 load_weights(*checkpoint, *backends.main, layout_));
    PLUMB_ASSIGN(const std::unique_ptr<Forward> forward,
                 Forward::create(*model, *backends.main, backends.ops, *backends.meta,
                                 static_cast<std::int64_t>(ids.size()), chunk_));
    return check_logits(*forward, ids, model->facts().vocab_size, {reference_, dump_});
  }

  std::string model_;
  std::string ids_;
  std::string reference_;
  std::string dump_;
  std::optional<double> max_kl_;
  std::int64_t chunk_ = 512;
  bool json_ = false;
  ModelOptions layout_;
  BackendOptions backend_;
};

}  // namespace

std::unique_ptr<Command> make_check_op_command() {
  return std::make_unique<CheckOpCommand>();
}

std::unique_ptr<Command> make_check_logits_command() {
  return std::make_unique<CheckLogitsCommand>();
}

}  // namespace plumb
