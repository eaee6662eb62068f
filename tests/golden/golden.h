// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/token_id.h"
#include "check/forward.h"
#include "checkpoint/checkpoint.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/meta/meta_backend.h"
#include "kernels/ref/ref_backend.h"
#include "model/families.h"

namespace plumb {

/// A recorded file of this folder.
class Golden {
 public:
  explicit Golden(const std::string& name) {
    const Result<std::string> text =
        read_file(std::string(PLUMB_SOURCE_DIR) + "/tests/golden/" + name + ".json");
    EXPECT_TRUE(text.ok()) << text.status().message();
    const Result<Json> json = parse_json(text.ok() ? text.value() : "{}");
    EXPECT_TRUE(json.ok()) << json.status().message();
    record_ = json.ok() ? json.value() : Json(JsonObject());
  }

  bool ok() const { return !record_.as_object().empty(); }

  /// Requires ok().
  const Json& operator[](const char* key) const { return *record_.find(key); }

  std::string text(const char* key) const { return (*this)[key].as_string(); }

 private:
  Json record_;
};

inline std::vector<double> doubles(const Json& list) {
  std::vector<double> out;
  for (const Json& item : list.as_array()) {
    out.push_back(item.as_double());
  }
  return out;
}

inline std::vector<TokenId> token_ids(const Json& list) {
  std::vector<TokenId> out;
  for (const Json& item : list.as_array()) {
    out.push_back(static_cast<TokenId>(item.as_int()));
  }
  return out;
}

inline std::string file_digest(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok()) {
    return file.status().message();
  }
  Sha256 digest;
  digest.update(file.value().bytes());
  return to_hex(digest.finish());
}

/// A back end with a model on it.
struct Loaded {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Backend> meta = make_meta_backend();
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Model> model;

  /// Null where the processor lacks the tier. Names: "ref", "cpu_avx2", "cpu_avx512".
  static std::unique_ptr<Backend> make_backend(const std::string& name) {
    if (name == "ref") {
      return make_ref_backend();
    }
    Result<std::unique_ptr<Backend>> cpu =
        make_cpu_backend({2, name == "cpu_avx2" ? CpuTier::kAvx2 : CpuTier::kAvx512});
    return cpu.ok() ? std::move(cpu).value() : nullptr;
  }

  bool load(const std::string& backend_name, const std::string& path, DType kv_dtype) {
    backend = make_backend(backend_name);
    Result<std::unique_ptr<Checkpoint>> opened = Checkpoint::open(path);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    if (!opened.ok()) {
      return false;
    }
    checkpoint = std::move(opened).value();
    Result<std::unique_ptr<Model>> made = load_model({*checkpoint, *backend, {}, kv_dtype, 32});
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) {
      model = std::move(made).value();
    }
    return made.ok();
  }

  /// Logits [T][V], computed in chunks; chunk 1 decodes.
  std::vector<std::vector<float>> logits(const std::vector<TokenId>& ids, std::int64_t chunk) {
    std::vector<std::vector<float>> rows;
    Result<std::unique_ptr<Forward>> forward = Forward::create(
        *model, *backend, backend->ops(), *meta, static_cast<std::int64_t>(ids.size()), chunk);
    EXPECT_TRUE(forward.ok()) << forward.status().message();
    if (forward.ok()) {
      const Status status =
          forward.value()->run(ids, [&](std::int64_t, std::span<const float> row) {
            rows.emplace_back(row.begin(), row.end());
          });
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return rows;
  }
};

inline TokenId argmax(const std::vector<float>& row) {
  return static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace plumb
