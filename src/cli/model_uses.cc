// SPDX-License-Identifier: Apache-2.0
#include "cli/model_uses.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/meta/meta_backend.h"
#include "model/encoder.h"

namespace plumb {
namespace {

/// What a model asked to be packed. The address tells the tensor again in calls of ops.
struct PackedMatrix {
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const std::byte* address = nullptr;
};

/// The back end that computes nothing, and keeps what it was given.
class PackRecorder final : public Backend {
 public:
  std::string_view name() const override { return meta_->name(); }

  std::string arch() const override { return meta_->arch(); }

  Allocator& allocator() override { return meta_->allocator(); }

  std::unique_ptr<Stream> new_stream() override { return meta_->new_stream(); }

  const OpTable& ops() const override { return meta_->ops(); }

  Result<Weight> pack(const RawMatrix& raw) override {
    packed_.push_back({raw.dtype, raw.rows, raw.cols, raw.bytes.data()});
    return meta_->pack(raw);
  }

  void copy(void* to, const void* from, std::int64_t num_bytes, Stream& stream) override {
    meta_->copy(to, from, num_bytes, stream);
  }

  const std::vector<PackedMatrix>& packed() const { return packed_; }

 private:
  std::unique_ptr<MetaBackend> meta_ = make_meta_backend();
  std::vector<PackedMatrix> packed_;
};

/// Collects the matrices that ops use, by address.
class UseStream final : public Stream {
 public:
  Status poll() override { return {}; }

  Status synchronize() override { return {}; }

  std::vector<const std::byte*> looked_up;
  std::vector<const std::byte*> multiplied;
};

/// Ops that only note what they are given.
OpTable noting_ops() {
  OpTable table;
#define PLUMB_IDLE_OP(Args, name) table.name = [](const Args&, Stream&) {};
  PLUMB_OP_LIST(PLUMB_IDLE_OP)
#undef PLUMB_IDLE_OP
  table.embedding = [](const Embedding& args, Stream& stream) {
    static_cast<UseStream&>(stream).looked_up.push_back(args.weight->bytes().data());
  };
  table.linear = [](const Linear& args, Stream& stream) {
    for (const LinearOutput& output : args.outputs) {
      static_cast<UseStream&>(stream).multiplied.push_back(output.weight->bytes().data());
    }
  };
  return table;
}

Tensor null_ints(std::int64_t count) {
  return Tensor::dense(nullptr, DType::kI32, {count});
}

void run_model(const Model& model, OpContext& op) {
  const KvLayout layout = model.kv_layout();
  std::vector<KvLayerCache> caches(static_cast<std::size_t>(model.facts().num_layers));
  for (const KvGroup& group : layout.groups) {
    const Tensor cache = Tensor::dense(nullptr, group.dtype,
                                       {1, group.num_kv_heads, layout.block_size, group.head_dim});
    for (const int layer : group.layers) {
      caches[static_cast<std::size_t>(layer)] = {cache, cache};
    }
  }
  ModelBatch batch;
  batch.token_ids = batch.positions = batch.context_lens = batch.logits_rows = null_ints(1);
  batch.cu_seqlens_q = null_ints(2);
  batch.full = {null_ints(1), Tensor::dense(nullptr, DType::kI32, {1, 1})};
  batch.windowed = batch.full;
  batch.max_context_len = 1;
  model.forward(op, batch, caches);
}

Status run_forward(Checkpoint& checkpoint, Backend& backend, const ModelOptions& layout,
                   UseStream& stream) {
  const OpTable ops = noting_ops();
  Workspace workspace = Workspace::measure();
  OpContext op(ops, workspace, stream);
  if (!is_encoder(checkpoint)) {
    PLUMB_ASSIGN(const std::unique_ptr<Model> model, load_weights(checkpoint, backend, layout));
    run_model(*model, op);
    return {};
  }
  PLUMB_ASSIGN(const std::unique_ptr<Encoder> encoder,
               load_encoder(checkpoint, backend, EncoderWeights::kRounded));
  encoder->forward(op, {null_ints(1), null_ints(1), null_ints(1), null_ints(2)});
  return {};
}

bool contains(const std::vector<const std::byte*>& addresses, const std::byte* address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

/// The tensors of the checkpoint that are matrices, each with whether it has been named.
struct NamedRecord {
  const TensorRecord* record = nullptr;
  const std::byte* address = nullptr;
  bool is_named = false;
};

std::vector<NamedRecord> matrix_records(const Checkpoint& checkpoint) {
  std::vector<NamedRecord> records;
  for (const TensorRecord& record : checkpoint.tensors()) {
    const Result<RawTensor> tensor = checkpoint.tensor(record);
    if (record.dims.size() == 2 && tensor.ok()) {
      records.push_back({&record, tensor.value().bytes.data()});
    }
  }
  return records;
}

/// The tensor that was packed: by its address, or (a converted copy) the first of that shape that
/// nothing else was made of.
NamedRecord* record_of(std::vector<NamedRecord>& records, const PackedMatrix& packed) {
  const auto by_address =
      std::find_if(records.begin(), records.end(),
                   [&](const NamedRecord& record) { return record.address == packed.address; });
  if (by_address != records.end()) {
    return &*by_address;
  }
  const auto by_shape =
      std::find_if(records.begin(), records.end(), [&](const NamedRecord& record) {
        return !record.is_named && record.record->dims[0] == packed.rows &&
               record.record->dims[1] == packed.cols;
      });
  return by_shape == records.end() ? nullptr : &*by_shape;
}

}  // namespace

Result<ModelUses> find_model_uses(Checkpoint& checkpoint, const ModelOptions& layout) {
  PackRecorder recorder;
  UseStream stream;
  PLUMB_RETURN_IF_ERROR(run_forward(checkpoint, recorder, layout, stream));
  std::vector<NamedRecord> records = matrix_records(checkpoint);
  ModelUses uses;
  for (const PackedMatrix& packed : recorder.packed()) {
    NamedRecord* record = record_of(records, packed);
    if (record == nullptr || record->is_named) {
      continue;  // the same tensor again
    }
    record->is_named = true;
    const bool is_copy = record->address != packed.address;
    MatrixUse use{.name = record->record->name,
                  .file_format = record->record->type_name,
                  .dtype = packed.dtype,
                  .rows = packed.rows,
                  .cols = packed.cols};
    use.is_looked_up = contains(stream.looked_up, packed.address);
    use.is_multiplied = is_copy || contains(stream.multiplied, packed.address);
    uses.matrices.push_back(std::move(use));
  }
  uses.num_vectors = static_cast<std::int64_t>(checkpoint.tensors().size()) -
                     static_cast<std::int64_t>(uses.matrices.size());
  return uses;
}

}  // namespace plumb
