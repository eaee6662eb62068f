// SPDX-License-Identifier: Apache-2.0
#include "api/ids.h"

#include <algorithm>

#include "base/rng.h"

namespace plumb {
namespace {

std::string random_text(std::string_view alphabet, int num_chars) {
  std::string out(static_cast<std::size_t>(num_chars), '\0');
  random_bytes(out.data(), out.size());
  for (char& c : out) {
    c = alphabet[static_cast<unsigned char>(c) % alphabet.size()];
  }
  return out;
}

}  // namespace

std::string random_hex(int num_digits) {
  return random_text("0123456789abcdef", num_digits);
}

std::string random_alnum(int num_chars) {
  return random_text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", num_chars);
}

std::string new_chat_id() {
  return "chatcmpl-" + random_alnum(29);
}

std::string new_completion_id() {
  return "cmpl-" + random_alnum(29);
}

std::string new_message_id() {
  return "msg_" + random_alnum(24);
}

std::string new_response_id() {
  return new_item_id("resp");
}

std::string new_item_id(std::string_view prefix) {
  return std::string(prefix) + "_" + random_hex(48);
}

std::string new_request_id() {
  return "req_" + random_hex(32);
}

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  });
}

}  // namespace plumb
