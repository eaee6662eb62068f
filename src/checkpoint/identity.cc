// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/identity.h"

#include <bit>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/checksum.h"
#include "base/digest.h"

namespace plumb {
namespace {

// Appends values so that no two lists give the same text.
class Lines {
 public:
  void add(const std::string& text) { text_ += std::to_string(text.size()) + ":" + text + ";"; }

  void add(double value) { add(std::to_string(std::bit_cast<std::uint64_t>(value))); }

  void add(bool value) { add(std::string(value ? "true" : "false")); }

  void add(std::int64_t value) { add(std::to_string(value)); }

  void add(std::uint64_t value) { add(std::to_string(value)); }

  template <class T>
  void add(const std::vector<T>& list) {
    add(static_cast<std::int64_t>(list.size()));
    for (const auto& value : list) {
      add(static_cast<const T&>(value));
    }
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Of a large tensor three places, so that a file need not be read as a whole.
void add_bytes(std::span<const std::byte> bytes, IdentityBytes which, Lines* lines) {
  constexpr std::size_t kSampleBytes = 4096;
  if (which == IdentityBytes::kAll || bytes.size() <= 3 * kSampleBytes) {
    lines->add(checksum64(bytes));
    return;
  }
  for (const std::size_t begin :
       {std::size_t{0}, (bytes.size() - kSampleBytes) / 2, bytes.size() - kSampleBytes}) {
    lines->add(checksum64(bytes.subspan(begin, kSampleBytes)));
  }
}

}  // namespace

std::string checkpoint_identity(const Checkpoint& checkpoint, IdentityBytes which) {
  Lines lines;
  lines.add(to_text(checkpoint.config()));
  for (const auto& [key, value] : checkpoint.metadata().values()) {
    lines.add(key);
    lines.add(static_cast<std::int64_t>(value.index()));
    std::visit([&lines](const auto& of_a_type) { lines.add(of_a_type); }, value);
  }
  for (const TensorRecord& record : checkpoint.tensors()) {
    lines.add(record.name);
    lines.add(record.type_name);
    lines.add(record.dims);
    // What cannot be computed with is not loaded either.
    if (const Result<RawTensor> tensor = checkpoint.tensor(record); tensor.ok()) {
      add_bytes(tensor.value().bytes, which, &lines);
      checkpoint.release_pages(record.name);
    }
  }
  return to_hex(sha256(lines.text()));
}

}  // namespace plumb
