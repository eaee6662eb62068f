// SPDX-License-Identifier: Apache-2.0
// C entry points over tensor/format.h for tools/format_golden.py, which compares the formats with
// an independent implementation. Built as a loadable module for tests only.
#include <string_view>

#include "tensor/format.h"

extern "C" {

/// Bytes of one block of the named format, or 0 if the name is no weight format.
std::int64_t plumb_block_bytes(const char* name) {
  const auto dtype = plumb::dtype_from_text(name);
  return dtype && plumb::traits(*dtype).is_weight ? plumb::traits(*dtype).block_bytes : 0;
}

/// Elements of one block of the named format, or 0.
std::int64_t plumb_block_elems(const char* name) {
  const auto dtype = plumb::dtype_from_text(name);
  return dtype && plumb::traits(*dtype).is_weight ? plumb::traits(*dtype).block_elems : 0;
}

/// Requires a name for which plumb_block_bytes is not 0.
void plumb_dequantize(const char* name, const void* source, std::int64_t num_elements, float* out) {
  plumb::dequantize(*plumb::dtype_from_text(name), static_cast<const std::byte*>(source),
                    num_elements, out);
}

/// Requires a name for which plumb_block_bytes is not 0.
void plumb_quantize(const char* name, const float* source, std::int64_t num_elements, void* out) {
  plumb::quantize(*plumb::dtype_from_text(name), source, num_elements,
                  static_cast<std::byte*>(out));
}

}  // extern "C"
