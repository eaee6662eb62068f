// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread.h"
#include "kernels/cpu/compute_pool.h"
#include "kernels/cpu/cpu_backend.h"
#include "ops/cases.h"
#include "tensor/half.h"
#include "tensor/host_allocator.h"

// Times linear and paged_attention of this back end on the shapes of small models, beside the floor
// of the same run: the read bandwidth that the same threads reach on a plain sum.
//
//   kernels_cpu_bench [threads] [avx2|avx512] [part of a name]
//
// Matrices are copied often enough that together they exceed the caches, as the layers of a model
// do; values are random.
namespace plumb {
namespace {

constexpr std::int64_t kStreamBytes = std::int64_t{256} << 20;

/// Wall time, or with one thread its processor time, which a busy machine disturbs less.
double seconds_now(bool one_thread) {
  return one_thread
             ? static_cast<double>(std::clock()) / CLOCKS_PER_SEC
             : std::chrono::duration<double>(system_clock().now().time_since_epoch()).count();
}

/// Best time of one call of body(i) over several rounds.
template <class Body>
double best_seconds(int num_threads, std::int64_t calls, const Body& body) {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double start = seconds_now(num_threads == 1);
    for (std::int64_t i = 0; i < calls; ++i) {
      body(i);
    }
    const double seconds = seconds_now(num_threads == 1) - start;
    best = std::min(best, seconds / static_cast<double>(calls));
  }
  return best;
}

double read_bandwidth(int num_threads) {
  cpu::ComputePool pool(num_threads);
  Buffer memory = host_allocator().allocate(kStreamBytes).value();
  auto* words = static_cast<std::uint64_t*>(memory.address());
  const std::int64_t count = kStreamBytes / 8;
  for (std::int64_t i = 0; i < count; ++i) {
    words[i] = static_cast<std::uint64_t>(i);
  }
  std::atomic<std::uint64_t> sink{0};
  const double seconds = best_seconds(num_threads, 1, [&](std::int64_t) {
    pool.run(count, count / 64, [&](std::int64_t begin, std::int64_t end, int) {
      std::uint64_t sums[8] = {};
      for (std::int64_t i = begin; i + 8 <= end; i += 8) {
        for (std::int64_t j = 0; j < 8; ++j) {
          sums[j] += words[i + j];
        }
      }
      for (const std::uint64_t sum : sums) {
        sink += sum;
      }
    });
  });
  return static_cast<double>(kStreamBytes) / seconds * 1e-9;
}

/// Shortest time of a loop without work.
double dispatch_seconds(int num_threads) {
  cpu::ComputePool pool(num_threads);
  double best = 1e9;
  for (int i = 0; i < 2000; ++i) {
    const double start = seconds_now(false);
    for (int j = 0; j < 10; ++j) {
      pool.run(num_threads, 1, [](std::int64_t, std::int64_t, int) {});
    }
    best = std::min(best, (seconds_now(false) - start) / 10);
  }
  return best;
}

struct Bench {
  Backend& backend;
  Stream& stream;
  int num_threads;
  double bandwidth;  ///< GB/s
  std::string only;
};

struct Matrix {
  const char* name;
  DType dtype;
  std::int64_t n;
  std::int64_t k;
};

void bench_matrix(const Bench& bench, const Matrix& matrix) {
  CaseRng rng(1);
  const std::int64_t bytes = matrix.n * row_bytes(matrix.dtype, matrix.k);
  const std::vector<std::byte> raw = random_weight(matrix.dtype, matrix.n, matrix.k, rng);
  std::vector<Weight> copies;
  for (std::int64_t i = 0; i < std::max(kStreamBytes / 2 / bytes, std::int64_t{1}); ++i) {
    copies.push_back(bench.backend.pack({matrix.dtype, matrix.n, matrix.k, raw}).value());
  }
  for (const std::int64_t m : {1, 2, 4, 8, 16, 64, 512}) {
    std::vector<float> x = rng.normals(m * matrix.k);
    std::vector<float> y(static_cast<std::size_t>(m * matrix.n));
    Buffer scratch = bench.backend.allocator().allocate(linear_scratch_bytes(m, matrix.k)).value();
    const auto call = [&](std::int64_t i) {
      const Weight& weight = copies[static_cast<std::size_t>(i) % copies.size()];
      const LinearOutput output{&weight, Tensor::dense(y.data(), DType::kF32, {m, matrix.n}), {}};
      bench.backend.ops().linear(
          {Tensor::dense(x.data(), DType::kF32, {m, matrix.k}),
           {&output, 1},
           Tensor::dense(scratch.address(), DType::kI8, {scratch.num_bytes()})},
          bench.stream);
    };
    const double macs = static_cast<double>(m * matrix.n * matrix.k);
    const auto calls = std::clamp(static_cast<std::int64_t>(4e9 / macs), std::int64_t{1},
                                  static_cast<std::int64_t>(copies.size()));
    const double seconds = best_seconds(bench.num_threads, calls, call);
    const double rate = static_cast<double>(bytes) / seconds * 1e-9;
    std::printf(
        "%-16s %-5s %6lldx%-5lld m %3lld  %9.1f us %7.2f GB/s (%3.0f %% of %.1f) %7.1f GMAC/s\n",
        matrix.name, std::string(to_text(matrix.dtype)).c_str(), static_cast<long long>(matrix.n),
        static_cast<long long>(matrix.k), static_cast<long long>(m), seconds * 1e6, rate,
        100 * rate / bench.bandwidth, bench.bandwidth, macs / seconds * 1e-9);
  }
}

struct Heads {
  const char* name;
  std::int64_t q;
  std::int64_t kv;
  std::int64_t dim;
};

void bench_attention(const Bench& bench, const Heads& heads, std::int64_t context,
                     std::int64_t num_tokens) {
  constexpr std::int64_t kBlock = 32;
  constexpr std::int64_t kLayers = 30;
  CaseRng rng(2);
  const std::int64_t num_blocks = (context + kBlock - 1) / kBlock;
  const std::int64_t layer_elements = num_blocks * heads.kv * kBlock * heads.dim;
  const std::int64_t count = kLayers * layer_elements;
  Buffer memory = host_allocator().allocate(4 * count).value();
  auto* k = static_cast<std::uint16_t*>(memory.address());
  std::uint16_t* v = k + count;
  const std::vector<float> values = rng.normals(4096);
  for (std::int64_t i = 0; i < count; ++i) {
    k[i] = float_to_half(values[static_cast<std::size_t>(i % 4096)]);
    v[i] = float_to_half(values[static_cast<std::size_t>(7 * i % 4093)]);
  }
  std::vector<std::int32_t> table(static_cast<std::size_t>(num_blocks));
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::int32_t>(i);
  }
  std::vector<float> q = rng.normals(num_tokens * heads.q * heads.dim);
  std::vector<float> y(q.size());
  std::int32_t context_len = static_cast<std::int32_t>(context);
  std::int32_t begins[2] = {0, static_cast<std::int32_t>(num_tokens)};
  const std::int64_t scratch_bytes =
      paged_attention_scratch_bytes(num_tokens, heads.q, heads.dim, context);
  Buffer scratch = bench.backend.allocator().allocate(scratch_bytes).value();
  PagedAttention args;
  args.q = Tensor::dense(q.data(), DType::kF32, {num_tokens, heads.q, heads.dim});
  args.y = Tensor::dense(y.data(), DType::kF32, {num_tokens, heads.q, heads.dim});
  args.block_table = Tensor::dense(table.data(), DType::kI32, {1, num_blocks});
  args.context_lens = Tensor::dense(&context_len, DType::kI32, {1});
  args.cu_seqlens_q = Tensor::dense(begins, DType::kI32, {2});
  args.scratch = Tensor::dense(scratch.address(), DType::kI8, {scratch_bytes});
  args.scale = 0.125F;
  const double seconds = best_seconds(bench.num_threads, kLayers, [&](std::int64_t layer) {
    const Shape shape{num_blocks, heads.kv, kBlock, heads.dim};
    args.k_cache = Tensor::dense(k + layer * layer_elements, DType::kF16, shape);
    args.v_cache = Tensor::dense(v + layer * layer_elements, DType::kF16, shape);
    bench.backend.ops().paged_attention(args, bench.stream);
  });
  const double pairs = static_cast<double>(num_tokens) *
                       (static_cast<double>(context) - static_cast<double>(num_tokens - 1) / 2);
  const double macs = pairs * static_cast<double>(2 * heads.q * heads.dim);
  std::printf("attention %-9s context %5lld tokens %4lld %9.1f us %7.2f GB/s %7.1f GMAC/s\n",
              heads.name, static_cast<long long>(context), static_cast<long long>(num_tokens),
              seconds * 1e6, 4e-9 * static_cast<double>(layer_elements) / seconds,
              macs / seconds * 1e-9);
}

int run(int argc, char** argv) {
  const int asked = argc > 1 ? std::atoi(argv[1]) : 0;
  const int num_threads = asked > 0 ? asked : num_usable_cores();
  const CpuTier tier = argc <= 2                           ? CpuTier::kAuto
                       : std::strcmp(argv[2], "avx2") == 0 ? CpuTier::kAvx2
                                                           : CpuTier::kAvx512;
  Result<std::unique_ptr<Backend>> backend = make_cpu_backend({num_threads, tier});
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().message().c_str());
    return 1;
  }
  const std::unique_ptr<Stream> stream = backend.value()->new_stream();
  const Bench bench{*backend.value(), *stream, num_threads, read_bandwidth(num_threads),
                    argc > 3 ? argv[3] : ""};
  std::printf("%s, read bandwidth %.1f GB/s, dispatch %.2f us\n", bench.backend.arch().c_str(),
              bench.bandwidth, dispatch_seconds(num_threads) * 1e6);
  for (const Matrix& matrix :
       {Matrix{"smollm2.qo", DType::kQ4_1, 576, 576},
        Matrix{"smollm2.gate_up", DType::kQ4_1, 3072, 576},
        Matrix{"smollm2.down", DType::kQ4_1, 576, 1536},
        Matrix{"smollm2.output", DType::kQ8_0, 49152, 576},
        Matrix{"gemma.gate_up", DType::kQ5_0, 4096, 640},
        Matrix{"gemma.down4", DType::kQ4_K, 640, 2048},
        Matrix{"gemma.down6", DType::kQ6_K, 640, 2048},
        Matrix{"gemma.output", DType::kQ8_0, 262144, 640}, Matrix{"q5_k", DType::kQ5_K, 2048, 2048},
        Matrix{"iq4_xs", DType::kIQ4_XS, 2048, 2048}, Matrix{"bf16", DType::kBF16, 2048, 2048},
        Matrix{"minilm.up", DType::kQ13, 1536, 384}, Matrix{"minilm.down", DType::kQ13, 384, 1536},
        Matrix{"minilm.up32", DType::kF32, 1536, 384}}) {
    if (std::string(matrix.name).find(bench.only) != std::string::npos) {
      bench_matrix(bench, matrix);
    }
  }
  for (const std::int64_t num_tokens : {1, 512}) {
    const std::string name = num_tokens == 1 ? "attention.decode" : "attention.prefill";
    for (const Heads& heads : {Heads{"smollm2", 9, 3, 64}, Heads{"gemma", 4, 1, 256}}) {
      for (const std::int64_t context : {512, 2048}) {
        if (name.find(bench.only) != std::string::npos) {
          bench_attention(bench, heads, context, num_tokens);
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  return plumb::run(argc, argv);
}
