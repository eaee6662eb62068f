// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "checkpoint/safetensors.h"

// The input is taken as a whole file and as the header text of a file; any bytes give a header or
// an error, and what a header says lies inside the bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string framed(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    framed[i] = static_cast<char>((size >> (8 * i)) & 0xFF);
  }
  framed.append(reinterpret_cast<const char*>(bytes), size);
  framed.append(64, '\0');
  for (const std::string& file : {framed.substr(8, size), framed.substr(0, 8 + size), framed}) {
    const auto header =
        plumb::parse_safetensors({reinterpret_cast<const std::byte*>(file.data()), file.size()});
    if (!header.ok()) {
      continue;
    }
    for (const plumb::TensorRecord& record : header.value().tensors) {
      if (record.file_offset > file.size() || record.num_bytes > file.size() - record.file_offset) {
        std::abort();
      }
    }
  }
  return 0;
}
