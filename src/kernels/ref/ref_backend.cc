// SPDX-License-Identifier: Apache-2.0
#include "kernels/ref/ref_backend.h"

#include <cstring>
#include <string>

#include "kernels/ref/ref_ops.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

class RefBackend final : public Backend {
 public:
  RefBackend() {
#define PLUMB_REF_ENTRY(Args, name) ops_.name = ref::name;
    PLUMB_OP_LIST(PLUMB_REF_ENTRY)
#undef PLUMB_REF_ENTRY
  }

  std::string_view name() const override {
    return "ref";
  }

  std::string arch() const override {
    return "double sums, 1 thread";
  }

  Allocator& allocator() override {
    return host_allocator();
  }

  std::unique_ptr<Stream> new_stream() override {
    return std::make_unique<HostStream>();
  }

  const OpTable& ops() const override {
    return ops_;
  }

  Result<Weight> pack(const RawMatrix& raw) override {
    PLUMB_RETURN_IF_ERROR(validate(raw));
    return Weight(raw.dtype, raw.rows, raw.cols, &rows_layout(), raw.bytes);
  }

  void copy(void* to, const void* from, std::int64_t num_bytes, Stream&) override {
    if (num_bytes > 0) {
      std::memcpy(to, from, static_cast<std::size_t>(num_bytes));
    }
  }

 private:
  OpTable ops_;
};

}  // namespace

std::unique_ptr<Backend> make_ref_backend() {
  return std::make_unique<RefBackend>();
}

}  // namespace plumb
