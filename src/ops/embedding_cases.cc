// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "ops/cases.h"

namespace plumb {
namespace {

struct EmbeddingShape {
  DType format;
  std::int64_t num_tokens;
  std::int64_t vocab;
  std::int64_t hidden;
  float scale;
  CasePlacement place = {};
};

void run_embedding(const EmbeddingShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 131 + s.vocab));
  std::vector<std::int32_t> ids;
  for (std::int64_t t = 0; t < s.num_tokens; ++t) {
    // The first and the last row, then any.
    const std::int64_t id = t == 0 ? s.vocab - 1 : t == 1 ? 0 : rng.below(s.vocab);
    ids.push_back(static_cast<std::int32_t>(id));
  }
  const Embedding args{
      device.ints({s.num_tokens}, ids),
      device.weight(s.format, s.vocab, s.hidden, random_weight(s.format, s.vocab, s.hidden, rng)),
      device.blank(DType::kF32, {s.num_tokens, s.hidden}, s.place), s.scale};
  device.run(device.ops().embedding, args);
  device.result("y", args.y);
}

void worked_embedding(CaseDevice& device) {
  const Embedding args{device.ints({3}, std::vector<std::int32_t>{1, 0, 1}),
                       device.weight(DType::kF32, 2, 2, float_bytes({1, 2, 3, 4})),
                       device.blank(DType::kF32, {3, 2}), 2.0F};
  device.run(device.ops().embedding, args);
  device.result("y", args.y, {}, std::vector<float>{6, 8, 2, 4, 6, 8});
}

}  // namespace

void add_embedding_cases(std::vector<OpCase>* cases) {
  cases->push_back({"embedding", "worked", worked_embedding});
  std::vector<EmbeddingShape> shapes;
  for (const DType format : weight_formats()) {
    const std::int64_t block = traits(format).block_elems;
    shapes.push_back({format, 0, 5, block, 1.0F, {}});
    shapes.push_back({format, 1, 1, block, 1.0F, {}});
    shapes.push_back({format, 7, 37, 3 * block, 1.0F, {}});
    shapes.push_back({format, 5, 67, 768, 25.25F, {3, 1}});
    shapes.push_back({format, 130, 259, 512, 1.0F, {}});
  }
  shapes.push_back({DType::kF16, 33, 50001, 96, 1.0F, {}});
  shapes.push_back({DType::kQ8_0, 33, 50001, 96, 1.0F, {}});
  for (const EmbeddingShape& s : shapes) {
    cases->push_back({"embedding",
                      to_lower_ascii(to_text(s.format)) + "_t" + std::to_string(s.num_tokens) +
                          "_v" + std::to_string(s.vocab) + "_h" + std::to_string(s.hidden),
                      [s](CaseDevice& device) { run_embedding(s, device); }});
  }
}

}  // namespace plumb
