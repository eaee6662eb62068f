// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "checkpoint/gguf.h"

// Any bytes give a header or an error; what a header says lies inside the bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto header = plumb::parse_gguf({reinterpret_cast<const std::byte*>(bytes), size});
  if (!header.ok()) {
    return 0;
  }
  for (const plumb::TensorRecord& record : header.value().tensors) {
    if (record.file_offset > size || record.num_bytes > size - record.file_offset) {
      std::abort();
    }
  }
  return 0;
}
