// SPDX-License-Identifier: Apache-2.0
#include "request/cache_namespace.h"

#include <cstdint>

#include "base/digest.h"

namespace plumb {
namespace {

constexpr std::size_t kNamespaceBytes = 16;

void append_with_length(std::string_view bytes, std::string* out) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  for (int shift = 0; shift < 32; shift += 8) {
    out->push_back(static_cast<char>(length >> shift & 0xFF));
  }
  *out += bytes;
}

}  // namespace

std::string cache_namespace(std::initializer_list<NamespaceField> fields) {
  std::string text;
  for (const NamespaceField& field : fields) {
    if (!field.value.empty()) {
      append_with_length(field.tag, &text);
      append_with_length(field.value, &text);
    }
  }
  if (text.empty()) {
    return {};
  }
  const Digest256 digest = sha256(text);
  return {reinterpret_cast<const char*>(digest.data()), kNamespaceBytes};
}

}  // namespace plumb
