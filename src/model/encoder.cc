// SPDX-License-Identifier: Apache-2.0
#include "model/encoder.h"

#include "model/encoder_config.h"
#include "model/families/bert.h"

namespace plumb {
namespace {

constexpr std::string_view kBert = "bert";

std::string family_name(const Checkpoint& checkpoint) {
  if (checkpoint.kind() == Checkpoint::Kind::kGguf) {
    return checkpoint.metadata().get_or<std::string>("general.architecture", "");
  }
  const Json* type = checkpoint.config().find("model_type");
  return type != nullptr && type->is_string() ? type->as_string() : "";
}

}  // namespace

bool is_encoder(const Checkpoint& checkpoint) {
  return family_name(checkpoint) == kBert;
}

Result<std::unique_ptr<Encoder>> load_encoder(Checkpoint& checkpoint, Backend& backend,
                                              EncoderWeights weights) {
  if (!is_encoder(checkpoint)) {
    return Status{Code::kUnsupported, "encoder family '" + family_name(checkpoint) +
                                          "' is not supported, expected bert"};
  }
  PLUMB_ASSIGN(const EncoderConfig config, read_encoder_config(checkpoint));
  return load_bert(checkpoint, backend, config, weights);
}

}  // namespace plumb
