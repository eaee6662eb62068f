// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>

#include "base/thread.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/linear_registry.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/panel_layout.h"
#include "kernels/cpu/slab_allocator.h"

namespace plumb {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend(CpuTier tier, int num_threads)
      : num_threads_(num_threads),
        kernels_(cpu::kernel_table_of(tier)),
        linear_kernels_(tier, kernels_),
        weights_(host_allocator()) {
#define PLUMB_SET_OP(Args, name) ops_.name = cpu::name;
    PLUMB_OP_LIST(PLUMB_SET_OP)
#undef PLUMB_SET_OP
  }

  std::string_view name() const override {
    return "cpu";
  }

  std::string arch() const override {
    const bool is_wide = linear_kernels_.tier() == CpuTier::kAvx512;
    return std::string(is_wide ? "avx512-vnni" : "avx2") + ", " + std::to_string(num_threads_) +
           (num_threads_ == 1 ? " thread" : " threads");
  }

  Allocator& allocator() override {
    return host_allocator();
  }

  std::unique_ptr<Stream> new_stream() override {
    std::unique_ptr<cpu::ComputePool> pool = std::move(pack_pool_);
    if (pool == nullptr) {
      pool = std::make_unique<cpu::ComputePool>(num_threads_);
    }
    return std::make_unique<cpu::CpuStream>(kernels_, linear_kernels_, std::move(pool));
  }

  // Without compute threads.
  std::unique_ptr<Stream> new_copy_stream() override {
    return std::make_unique<HostStream>();
  }

  const OpTable& ops() const override {
    return ops_;
  }

  Result<Weight> pack(const RawMatrix& raw) override;

  void copy(void* to, const void* from, std::int64_t num_bytes, Stream&) override {
    std::memcpy(to, from, static_cast<std::size_t>(num_bytes));
  }

 private:
  const int num_threads_;
  const cpu::KernelTable kernels_;
  const cpu::LinearRegistry linear_kernels_;
  cpu::SlabAllocator weights_;
  OpTable ops_;
  std::unique_ptr<cpu::ComputePool> pack_pool_;  ///< becomes the first stream's
};

Result<Weight> CpuBackend::pack(const RawMatrix& raw) {
  if (raw.cols % traits(raw.dtype).block_elems != 0) {
    return Status{Code::kInvalidArgument, "a row of " + std::to_string(raw.cols) +
                                              " elements is not a multiple of the block of " +
                                              std::string(to_text(raw.dtype))};
  }
  const cpu::LinearDesc desc{
      .dtype = raw.dtype, .n = raw.rows, .k = raw.cols, .num_threads = num_threads_};
  const cpu::LinearKernel* kernel = linear_kernels_.choose(desc).kernel;
  if (kernel == nullptr) {
    return Status{Code::kUnsupported, "no cpu kernel for weights of type " +
                                          std::string(to_text(raw.dtype)) +
                                          "; convert the checkpoint to another type"};
  }
  const int rows = kernel->panel_rows;
  const std::int64_t num_panels = (raw.rows + rows - 1) / rows;
  const std::int64_t panel_bytes = cpu::panel_bytes(kernel->type, rows, raw.cols);
  PLUMB_ASSIGN(Buffer storage, weights_.allocate(num_panels * panel_bytes));
  if (pack_pool_ == nullptr) {
    pack_pool_ = std::make_unique<cpu::ComputePool>(num_threads_);
  }
  auto* panels = static_cast<unsigned char*>(storage.address());
  pack_pool_->run(num_panels, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      cpu::pack_panel(raw, kernel->type, rows, i, panels + i * panel_bytes);
    }
  });
  return Weight(raw.dtype, raw.rows, raw.cols, &cpu::panel_layout(rows), std::move(storage));
}

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuBackendOptions& options) {
  PLUMB_ASSIGN(const CpuTier tier, cpu::resolve_tier(options.tier));
  const int num_threads = options.num_threads > 0 ? options.num_threads : num_usable_cores();
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(tier, std::max(num_threads, 1)));
}

}  // namespace plumb
