// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace plumb {

/// One thing that the keys and values of a prompt, or who may reuse them, depend on.
struct NamespaceField {
  std::string_view tag;    ///< what it is: "weights", "lora", "salt", "principal", "request"
  std::string_view value;  ///< empty = it plays no part
};

/// The name of the part of the prefix cache in which sequences share: 16 bytes, or empty if no
/// field has a value. Nobody can tell the fields from it.
///
/// The first 16 bytes of the SHA-256 of, for each field in its order, tag and value, each with its
/// length as u32 little-endian before it. Tags and lengths keep a value of one field from passing
/// for a value of another.
std::string cache_namespace(std::initializer_list<NamespaceField> fields);

}  // namespace plumb
