// SPDX-License-Identifier: Apache-2.0
// llama_logits MODEL.gguf IDS.json OUT.f32 [CONTEXT]: teacher-forced logits of llama.cpp through
// its public C API, float32 [T, V] in the order of the ids, as `plumb check logits --reference` and
// tools/reference_logits.py write them. CONTEXT splits the ids into windows that start afresh
// (default: one window). Built by build-llama; not part of Plumb.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <llama.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::int32_t kChunk = 512;  // tokens of one decode call

int fail(const std::string& what) {
  std::fprintf(stderr, "llama_logits: %s\n", what.c_str());
  return 1;
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, FileCloser>;

// The numbers of a file that holds one JSON array of them.
std::vector<llama_token> read_ids(const char* path) {
  std::vector<llama_token> ids;
  const File file(std::fopen(path, "r"));
  if (file == nullptr) {
    return ids;
  }
  int c = std::fgetc(file.get());
  while (c != EOF) {
    if (c < '0' || c > '9') {
      c = std::fgetc(file.get());
      continue;
    }
    llama_token id = 0;
    for (; c >= '0' && c <= '9'; c = std::fgetc(file.get())) {
      id = id * 10 + (c - '0');
    }
    ids.push_back(id);
  }
  return ids;
}

// Decodes ids [begin, end) from an empty context and writes one row of logits for each.
bool run_window(llama_context* context, const std::vector<llama_token>& ids, std::size_t begin,
                std::size_t end, std::size_t vocab_size, std::FILE* out) {
  llama_memory_clear(llama_get_memory(context), true);
  llama_batch batch = llama_batch_init(kChunk, 0, 1);
  bool ok = true;
  for (std::size_t at = begin; at < end && ok; at += kChunk) {
    batch.n_tokens = static_cast<std::int32_t>(std::min<std::size_t>(kChunk, end - at));
    for (std::int32_t i = 0; i < batch.n_tokens; ++i) {
      batch.token[i] = ids[at + static_cast<std::size_t>(i)];
      batch.pos[i] = static_cast<llama_pos>(at - begin) + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    ok = llama_decode(context, batch) == 0;
    for (std::int32_t i = 0; i < batch.n_tokens && ok; ++i) {
      const float* logits = llama_get_logits_ith(context, i);
      ok = logits != nullptr && std::fwrite(logits, sizeof(float), vocab_size, out) == vocab_size;
    }
  }
  llama_batch_free(batch);
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    return fail("usage: llama_logits MODEL.gguf IDS.json OUT.f32 [CONTEXT]");
  }
  const std::vector<llama_token> ids = read_ids(argv[2]);
  if (ids.empty()) {
    return fail(std::string(argv[2]) + ": no token ids");
  }
  const std::size_t window =
      argc > 4 ? static_cast<std::size_t>(std::strtoull(argv[4], nullptr, 10)) : ids.size();
  if (window == 0) {
    return fail("CONTEXT must be at least 1");
  }
  llama_backend_init();
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  const std::unique_ptr<llama_model, decltype(&llama_model_free)> model(
      llama_model_load_from_file(argv[1], llama_model_default_params()), llama_model_free);
  if (model == nullptr) {
    return fail(std::string(argv[1]) + ": cannot be loaded");
  }
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(window);
  params.n_batch = kChunk;
  params.n_ubatch = kChunk;
  params.n_threads = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  params.n_threads_batch = params.n_threads;
  const std::unique_ptr<llama_context, decltype(&llama_free)> context(
      llama_init_from_model(model.get(), params), llama_free);
  const File out(std::fopen(argv[3], "wb"));
  if (context == nullptr || out == nullptr) {
    return fail(out == nullptr ? std::string(argv[3]) + ": cannot be written" : "no context");
  }
  std::fprintf(stderr, "%s\n", llama_print_system_info());
  const auto vocab_size =
      static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model.get())));
  for (std::size_t begin = 0; begin < ids.size(); begin += window) {
    const std::size_t end = std::min(ids.size(), begin + window);
    if (!run_window(context.get(), ids, begin, end, vocab_size, out.get())) {
      return fail("decoding failed in the window from " + std::to_string(begin));
    }
  }
  return 0;
}
