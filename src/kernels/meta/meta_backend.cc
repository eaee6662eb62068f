// SPDX-License-Identifier: Apache-2.0
#include "kernels/meta/meta_backend.h"

#include <string>

#include "ops/cost_stream.h"

namespace plumb {
namespace {

template <class Args>
void dry_run(std::string_view op, const Args& args, Stream& stream) {
  const Status status = validate(args);
  PLUMB_CHECK(status.ok(), status.message());
  if (auto* costs = dynamic_cast<CostStream*>(&stream)) {
    costs->add(op, cost(args));
  }
}

class MetaBackendImpl final : public MetaBackend {
 public:
  MetaBackendImpl() {
#define PLUMB_META_ENTRY(Args, name) \
  ops_.name = [](const Args& args, Stream& stream) { dry_run(#name, args, stream); };
    PLUMB_OP_LIST(PLUMB_META_ENTRY)
#undef PLUMB_META_ENTRY
  }

  std::string_view name() const override {
    return "meta";
  }

  std::string arch() const override {
    return "shapes only";
  }

  Allocator& allocator() override {
    return allocator_;
  }

  std::unique_ptr<Stream> new_stream() override {
    return std::make_unique<CostStream>();
  }

  const OpTable& ops() const override {
    return ops_;
  }

  Result<Weight> pack(const RawMatrix& raw) override {
    if (!raw.bytes.empty()) {
      PLUMB_RETURN_IF_ERROR(validate(raw));
    }
    return Weight(raw.dtype, raw.rows, raw.cols, &rows_layout(), raw.bytes);
  }

  void copy(void*, const void*, std::int64_t, Stream&) override {}

  const MetaAllocator& counters() const override {
    return allocator_;
  }

 private:
  MetaAllocator allocator_;
  OpTable ops_;
};

}  // namespace

std::unique_ptr<MetaBackend> make_meta_backend() {
  return std::make_unique<MetaBackendImpl>();
}

}  // namespace plumb
