// SPDX-License-Identifier: Apache-2.0
#include "model/weight_loader.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "tensor/format.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxListed = 20;

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxListed)));
  std::string text = join(shown, ", ");
  if (names.size() > kMaxListed) {
    text += " and " + std::to_string(names.size() - kMaxListed) + " more";
  }
  return text;
}

}  // namespace

WeightLoader::WeightLoader(Checkpoint& checkpoint, Backend& backend, ShardRank rank)
    : checkpoint_(checkpoint), backend_(backend), rank_(rank) {}

const std::string& WeightLoader::pick(const TensorName& name) const {
  return checkpoint_.kind() == CheckpointKind::kGguf ? name.gguf : name.hf;
}

void WeightLoader::complain(std::string problem) {
  problems_.push_back(std::move(problem));
}

const RawTensor* WeightLoader::take(const TensorName& name, bool required) {
  const std::string& key = pick(name);
  const RawTensor* tensor = key.empty() ? nullptr : checkpoint_.find(key);
  if (tensor != nullptr) {
    used_.insert(key);
  } else if (required) {
    missing_.push_back(key);
  }
  return tensor;
}

void WeightLoader::ignore(const TensorName& name) {
  used_.insert(pick(name));
}

Weight WeightLoader::matrix(const TensorName& name, std::int64_t rows, std::int64_t cols,
                            ShardRule rule) {
  const RawTensor* tensor = take(name, true);
  return tensor == nullptr ? Weight() : pack(*tensor, rows, cols, rule);
}

Weight WeightLoader::optional_matrix(const TensorName& name, std::int64_t rows, std::int64_t cols,
                                     ShardRule rule) {
  const RawTensor* tensor = take(name, false);
  return tensor == nullptr ? Weight() : pack(*tensor, rows, cols, rule);
}

Weight WeightLoader::pack(const RawTensor& tensor, std::int64_t rows, std::int64_t cols,
                          ShardRule rule) {
  if (tensor.shape != Shape{rows, cols}) {
    complain("tensor '" + tensor.name + "' is " + to_text(tensor.shape) + ", expected " +
             to_text(Shape{rows, cols}));
    return {};
  }
  if (!traits(tensor.dtype).is_weight) {
    complain("tensor '" + tensor.name + "' has type " + std::string(to_text(tensor.dtype)) +
             ", which is no weight format");
    return {};
  }
  Result<TensorShard> share = shard(tensor, rule, rank_);
  if (!share.ok()) {
    complain(share.status().message());
    return {};
  }
  const TensorShard& part = share.value();
  Result<Weight> weight = backend_.pack({tensor.dtype, part.shape[0], part.shape[1], part.bytes});
  if (!weight.ok()) {
    complain("tensor '" + tensor.name + "': " + weight.status().message());
    return {};
  }
  if (!weight.value().is_mapped()) {
    checkpoint_.release_pages(tensor);
  }
  num_parameters_ += rows * cols;
  weight_bytes_ += static_cast<std::int64_t>(weight.value().bytes().size());
  return std::move(weight).value();
}

std::vector<float> WeightLoader::host_vector(const TensorName& name, std::int64_t n) {
  const RawTensor* tensor = take(name, false);
  return tensor == nullptr ? std::vector<float>() : values_of(*tensor, n);
}

std::vector<float> WeightLoader::values_of(const RawTensor& tensor, std::int64_t n) {
  if (tensor.shape != Shape{n}) {
    complain("tensor '" + tensor.name + "' is " + to_text(tensor.shape) + ", expected " +
             to_text(Shape{n}));
    return {};
  }
  if (!traits(tensor.dtype).is_weight || traits(tensor.dtype).block_elems != 1) {
    complain("tensor '" + tensor.name + "' has type " + std::string(to_text(tensor.dtype)) +
             ", expected F32, F16 or BF16");
    return {};
  }
  std::vector<float> values(static_cast<std::size_t>(n));
  dequantize(tensor.dtype, tensor.bytes.data(), n, values.data());
  return values;
}

Parameter WeightLoader::vector(const TensorName& name, std::int64_t n, ShardRule rule,
                               double offset) {
  const RawTensor* tensor = take(name, true);
  return tensor == nullptr ? Parameter() : load_vector(*tensor, n, rule, offset);
}

Parameter WeightLoader::optional_vector(const TensorName& name, std::int64_t n, ShardRule rule) {
  const RawTensor* tensor = take(name, false);
  return tensor == nullptr ? Parameter() : load_vector(*tensor, n, rule, 0.0);
}

Parameter WeightLoader::load_vector(const RawTensor& tensor, std::int64_t n, ShardRule rule,
                                    double offset) {
  std::vector<float> values = values_of(tensor, n);
  if (values.empty()) {
    return {};
  }
  num_parameters_ += n;
  if (rule == ShardRule::kRows) {
    const std::int64_t share = n / rank_.num_ranks;
    values.erase(values.begin(), values.begin() + rank_.rank * share);
    values.resize(static_cast<std::size_t>(share));
  }
  for (float& value : values) {
    value = static_cast<float>(static_cast<double>(value) + offset);
  }
  return parameter(values);
}

Parameter WeightLoader::parameter(const std::vector<float>& values) {
  const auto num_bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
  Result<Buffer> buffer = backend_.allocator().allocate(num_bytes);
  if (!buffer.ok()) {
    complain(buffer.status().message());
    return {};
  }
  weight_bytes_ += num_bytes;
  Parameter out;
  out.storage = std::move(buffer).value();
  out.tensor =
      Tensor::dense(out.storage.address(), DType::kF32, {static_cast<std::int64_t>(values.size())});
  const std::unique_ptr<Stream> stream = backend_.new_stream();
  if (out.tensor.address != nullptr) {
    backend_.copy(out.tensor.address, values.data(), num_bytes, *stream);
  }
  return out;
}

Status WeightLoader::finish() const {
  std::vector<std::string> unexpected;
  for (const RawTensor& tensor : checkpoint_.tensors()) {
    if (used_.find(tensor.name) == used_.end()) {
      unexpected.push_back(tensor.name);
    }
  }
  std::string message;
  const auto add = [&](const char* what, const std::vector<std::string>& items) {
    if (!items.empty()) {
      message += (message.empty() ? "" : "; ") + std::string(what) + listed(items);
    }
  };
  add("missing tensors: ", missing_);
  add("unexpected tensors: ", unexpected);
  add("", problems_);
  return message.empty() ? Status()
                         : Status{Code::kInvalidArgument, checkpoint_.path() + ": " + message};
}

}  // namespace plumb
