// SPDX-License-Identifier: Apache-2.0
#include "server/response_keeping.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/file.h"

namespace plumb {
namespace {

constexpr std::uint64_t kMaxKeyFileBytes = 64 << 10;
constexpr std::size_t kMinSecretBytes = 16;

}  // namespace

Result<ResponseKeeping> ResponseKeeping::open(const ResponseOptions& options, const Clock& clock) {
  ResponseKeeping keeping;
  keeping.seal = std::make_unique<Seal>();
  if (!options.reasoning_key_file.empty()) {
    PLUMB_RETURN_IF_ERROR(
        check_private_file(options.reasoning_key_file).with("--reasoning-key-file"));
    PLUMB_ASSIGN(const std::string secret, read_file(options.reasoning_key_file, kMaxKeyFileBytes));
    if (secret.size() < kMinSecretBytes) {
      return Status(Code::kInvalidArgument,
                    "--reasoning-key-file: has " + std::to_string(secret.size()) +
                        " bytes, expected at least " + std::to_string(kMinSecretBytes));
    }
    keeping.seal = std::make_unique<Seal>(secret);
  }
  if (options.store == "off") {
    return keeping;
  }
  const ResponseStoreLimits limits{
      options.store_entries, options.store_bytes,
      std::chrono::duration_cast<std::chrono::seconds>(options.store_ttl)};
  Result<std::unique_ptr<ResponseStore>> store =
      ResponseStore::open(options.store == "memory" ? "" : options.store, limits, clock);
  if (!store.ok()) {
    return store.status().with("--response-store");
  }
  keeping.store = std::move(store).value();
  return keeping;
}

}  // namespace plumb
