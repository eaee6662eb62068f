// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/synthesize.h"
#include "tensor/dtype.h"

namespace plumb {

/// One weight of a generated model under both of its names.
struct SynthesisWeight {
  std::string gguf_name;
  std::string hf_name;
  std::vector<std::int64_t> dims;  ///< slowest first
  double mean = 0.0;
  double deviation = 0.0;
  double gguf_offset = 0.0;         ///< added to every value in GGUF (norm weights of Gemma)
  std::int64_t interleave_dim = 0;  ///< GGUF interleaves the halves of heads of that many rows
  std::int64_t layer = -1;
  bool needs_more_bits = false;  ///< attention values and the MLP's output, in mixes
};

/// All weights of the model, in the order of a GGUF file.
std::vector<SynthesisWeight> synthesis_weights(const SynthesisSpec& spec);

/// The type that `spec.quant` gives a weight in GGUF.
DType synthesis_dtype(const SynthesisSpec& spec, const SynthesisWeight& weight);
/// True if `quant` names a weight type or a mix.
bool is_synthesis_quant(const std::string& quant);
/// The number of `general.file_type`.
std::uint32_t synthesis_file_type(const std::string& quant);

/// Makes packed rows of weights. Keeps quantised samples for large tensors.
/// Thread: one at a time.
class SynthesisRows {
 public:
  explicit SynthesisRows(std::uint64_t seed) : seed_(seed) {}

  /// Rows [begin, begin + count) of a matrix (or elements of a vector) in `dtype`; `for_gguf`
  /// selects order and offset of that format.
  std::vector<std::byte> make(const SynthesisWeight& weight, DType dtype, std::int64_t begin,
                              std::int64_t count, bool for_gguf);

 private:
  std::vector<std::byte> draw_blocks(const SynthesisWeight& weight, DType dtype, std::int64_t begin,
                                     std::int64_t count);
  const std::vector<std::byte>& sample(DType dtype, double deviation);

  std::uint64_t seed_;
  std::map<std::pair<DType, double>, std::vector<std::byte>> samples_;
};

}  // namespace plumb
