// SPDX-License-Identifier: Apache-2.0
#include "model/weight_loader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "tensor/format.h"

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

// The matrix in Q13; nothing if it is not of floats, or if its rows are not whole blocks.
std::optional<std::vector<std::byte>> rounded(const RawTensor& part) {
  const std::int64_t rows = part.shape[0];
  const std::int64_t cols = part.shape[1];
  if (traits(part.dtype).block_elems != 1 || cols % traits(DType::kQ13).block_elems != 0) {
    return std::nullopt;
  }
  const std::int64_t from_bytes = row_bytes(part.dtype, cols);
  const std::int64_t to_bytes = row_bytes(DType::kQ13, cols);
  std::vector<std::byte> out(static_cast<std::size_t>(rows * to_bytes));
  std::vector<float> values(static_cast<std::size_t>(cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    dequantize(part.dtype, part.bytes.data() + row * from_bytes, cols, values.data());
    quantize(DType::kQ13, values.data(), cols, out.data() + row * to_bytes);
  }
  return out;
}

}  // namespace

WeightLoader::WeightLoader(Checkpoint& checkpoint, Backend& backend, ShardRank rank)
    : checkpoint_(checkpoint), backend_(backend), rank_(rank) {}

const std::string& WeightLoader::pick(const TensorName& name) const {
  return checkpoint_.kind() == Checkpoint::Kind::kGguf ? name.gguf : name.hf;
}

void WeightLoader::complain(std::string problem) {
  problems_.push_back(std::move(problem));
}

const TensorRecord* WeightLoader::take(const TensorName& name, bool required) {
  const std::string& key = pick(name);
  const TensorRecord* record = key.empty() ? nullptr : checkpoint_.find(key);
  if (record != nullptr) {
    used_.insert(key);
  } else if (required) {
    missing_.push_back(key);
  }
  return record;
}

Weight WeightLoader::matrix(const TensorName& name, std::int64_t rows, std::int64_t cols,
                            ShardKind kind) {
  const TensorRecord* record = take(name, true);
  return record == nullptr ? Weight() : pack(*record, rows, cols, kind);
}

Weight WeightLoader::rounded_matrix(const TensorName& name, std::int64_t rows, std::int64_t cols,
                                    ShardKind kind) {
  const TensorRecord* record = take(name, true);
  return record == nullptr ? Weight() : pack(*record, rows, cols, kind, Form::kRounded);
}

Weight WeightLoader::optional_matrix(const TensorName& name, std::int64_t rows, std::int64_t cols,
                                     ShardKind kind) {
  const TensorRecord* record = take(name, false);
  return record == nullptr ? Weight() : pack(*record, rows, cols, kind);
}

void WeightLoader::ignore(const TensorName& name) {
  take(name, false);
}

Weight WeightLoader::pack(const TensorRecord& record, std::int64_t rows, std::int64_t cols,
                          ShardKind kind, Form form) {
  if (!check_dims(record, {rows, cols})) {
    return {};
  }
  const Result<RawTensor> whole = checkpoint_.tensor(record);
  if (!whole.ok()) {
    complain(whole.status().message());
    return {};
  }
  if (!traits(whole.value().dtype).is_weight) {
    complain("tensor '" + record.name + "' has type " + record.type_name +
             ", which is no weight format");
    return {};
  }
  const Result<TensorShard> share = shard(whole.value(), {kind, rank_.rank, rank_.num_ranks, 1});
  if (!share.ok()) {
    complain(share.status().message());
    return {};
  }
  const RawTensor& part = share.value().tensor;
  RawMatrix raw{part.dtype, part.shape[0], part.shape[1], part.bytes};
  std::optional<std::vector<std::byte>> copy;
  if (form == Form::kRounded) {
    copy = rounded(part);
  }
  if (copy.has_value()) {
    raw.dtype = DType::kQ13;
    raw.bytes = *copy;
  }
  Result<Weight> weight = backend_.pack(raw);
  if (!weight.ok()) {
    complain("tensor '" + record.name + "': " + weight.status().message());
    return {};
  }
  if (weight.value().is_mapped() && (copy.has_value() || !share.value().is_view())) {
    weight = owned(weight.value());  // it refers to a copy, which ends here
    if (!weight.ok()) {
      complain("tensor '" + record.name + "': " + weight.status().message());
      return {};
    }
  }
  if (!weight.value().is_mapped()) {
    checkpoint_.release_pages(record.name);
  }
  num_parameters_ += rows * cols;
  weight_bytes_ += static_cast<std::int64_t>(weight.value().bytes().size());
  return std::move(weight).value();
}

Result<Weight> WeightLoader::owned(const Weight& mapped) {
  const auto num_bytes = static_cast<std::int64_t>(mapped.bytes().size());
  PLUMB_ASSIGN(Buffer buffer, backend_.allocator().allocate(num_bytes));
  const std::unique_ptr<Stream> stream = backend_.new_stream();
  if (buffer.address() != nullptr) {
    backend_.copy(buffer.address(), mapped.bytes().data(), num_bytes, *stream);
  }
  return Weight(mapped.dtype(), mapped.rows(), mapped.cols(), mapped.layout(), std::move(buffer));
}

bool WeightLoader::check_dims(const TensorRecord& record,
                              const std::vector<std::int64_t>& expected) {
  if (record.dims != expected) {
    complain("tensor '" + record.name + "' is " + dims_to_text(record.dims) + ", expected " +
             dims_to_text(expected));
    return false;
  }
  return true;
}

std::vector<float> WeightLoader::host_vector(const TensorName& name, std::int64_t n) {
  const TensorRecord* record = take(name, false);
  return record == nullptr ? std::vector<float>() : values_of(*record, n);
}

std::vector<float> WeightLoader::values_of(const TensorRecord& record, std::int64_t n) {
  if (!check_dims(record, {n})) {
    return {};
  }
  const Result<RawTensor> tensor = checkpoint_.tensor(record);
  if (!tensor.ok()) {
    complain(tensor.status().message());
    return {};
  }
  const DType dtype = tensor.value().dtype;
  if (!traits(dtype).is_weight || traits(dtype).block_elems != 1) {
    complain("tensor '" + record.name + "' has type " + record.type_name +
             ", expected F32, F16 or BF16");
    return {};
  }
  std::vector<float> values(static_cast<std::size_t>(n));
  dequantize(dtype, tensor.value().bytes.data(), n, values.data());
  return values;
}

Parameter WeightLoader::vector(const TensorName& name, std::int64_t n, ShardKind kind,
                               double offset) {
  const TensorRecord* record = take(name, true);
  return record == nullptr ? Parameter() : load_vector(*record, n, kind, offset);
}

Parameter WeightLoader::optional_vector(const TensorName& name, std::int64_t n, ShardKind kind) {
  const TensorRecord* record = take(name, false);
  return record == nullptr ? Parameter() : load_vector(*record, n, kind, 0.0);
}

Parameter WeightLoader::load_vector(const TensorRecord& record, std::int64_t n, ShardKind kind,
                                    double offset) {
  std::vector<float> values = values_of(record, n);
  if (values.empty()) {
    return {};
  }
  num_parameters_ += n;
  if (kind == ShardKind::kColumns) {
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
  for (const TensorRecord& record : checkpoint_.tensors()) {
    if (used_.find(record.name) == used_.end()) {
      unexpected.push_back(record.name);
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
