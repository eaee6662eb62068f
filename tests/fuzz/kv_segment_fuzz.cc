// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_store.h"
#include "base/log.h"
#include "kvcache/disk_tier.h"
#include "support/mem_files.h"

namespace {

constexpr std::int64_t kBlockBytes = 8;
constexpr int kNumBlocks = 4;

plumb::DiskTierOptions options() {
  plumb::DiskTierOptions options;
  options.folder = "cache";
  options.max_bytes = 1 << 16;
  options.layout.block_bytes = kBlockBytes;
  return options;
}

// Every damage is a log line.
bool be_quiet() {
  plumb::LogOptions log;
  log.level = plumb::LogLevel::kOff;
  plumb::init_log(std::move(log));
  return true;
}

plumb::BlockHash hash_of(int block) {
  plumb::BlockHash hash{};
  hash.fill(static_cast<std::uint8_t>(block + 1));
  return hash;
}

std::vector<std::byte> payload_of(int block) {
  return std::vector<std::byte>(static_cast<std::size_t>(kBlockBytes),
                                static_cast<std::byte>(block * 37 + 5));
}

// The content of a segment with kNumBlocks blocks.
std::string whole_segment() {
  plumb::MemFiles files;
  const auto tier = plumb::DiskTier::open(options(), files).value();
  for (int block = 0; block < kNumBlocks; ++block) {
    const std::vector<std::byte> payload = payload_of(block);
    const plumb::TierBlock one{hash_of(block), payload};
    if (tier->put({&one, 1}) != 1) {
      std::abort();
    }
  }
  return *files.files.begin()->second;
}

}  // namespace

// Any bytes as a segment give no block, a blockwise damaged segment gives the right block or none.
// The first byte decides which; then three bytes (place, place, bits) for each damage, and a last
// one for the length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const bool is_quiet = be_quiet();
  if (size == 0 || !is_quiet) {
    return 0;
  }
  std::string content(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  if (bytes[0] % 2 == 1) {
    content = whole_segment();
    std::size_t i = 1;
    for (; i + 3 <= size; i += 3) {
      char& byte = content[(bytes[i] * 256U + bytes[i + 1]) % content.size()];
      byte = static_cast<char>(byte ^ static_cast<char>(bytes[i + 2]));
    }
    if (i < size) {
      content.resize(content.size() * bytes[i] / 255);
    }
  }
  plumb::MemFiles files;
  files.files["cache/00000001.kvseg"] = std::make_shared<std::string>(content);
  const auto tier = plumb::DiskTier::open(options(), files);
  if (!tier.ok()) {
    std::abort();
  }
  for (int block = 0; block < kNumBlocks; ++block) {
    const plumb::BlockHash hash = hash_of(block);
    std::vector<std::byte> out(static_cast<std::size_t>(kBlockBytes));
    const std::span<std::byte> span(out);
    if (tier.value()->get({&hash, 1}, {&span, 1}) == 1 && out != payload_of(block)) {
      std::abort();
    }
  }
  return 0;
}
