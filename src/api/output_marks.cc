// SPDX-License-Identifier: Apache-2.0
#include "api/output_marks.h"

#include <algorithm>

#include "base/json.h"

namespace plumb {
namespace {

constexpr char kLead = '\xFF';  // in no UTF-8

}  // namespace

bool OutputMarks::contains(std::string_view text) const {
  return std::find(texts_.begin(), texts_.end(), text) != texts_.end();
}

std::string OutputMarks::code(std::size_t mark) {
  return {kLead, static_cast<char>(0x80U + mark)};
}

std::string OutputMarks::encode(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    std::size_t found = texts_.size();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const bool is_longer = found == texts_.size() || texts_[i].size() > texts_[found].size();
      found = text.starts_with(texts_[i]) && is_longer ? i : found;
    }
    if (found < texts_.size()) {
      out += code(found);
      text.remove_prefix(texts_[found].size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

template <class Append>
std::string OutputMarks::replace_codes(std::string_view input, const Append& append) const {
  std::string out;
  while (!input.empty()) {
    const std::size_t at = std::min(input.find(kLead), input.size());
    out += input.substr(0, at);
    input.remove_prefix(at);
    if (input.empty()) {
      break;
    }
    const std::size_t mark =
        input.size() < kCodeBytes ? kMaxMarks : static_cast<unsigned char>(input[1]) - 0x80U;
    if (mark < texts_.size()) {
      append(texts_[mark], &out);
    }
    input.remove_prefix(std::min(kCodeBytes, input.size()));
  }
  return out;
}

std::string OutputMarks::decode(std::string_view input, bool with_marks) const {
  return replace_codes(input, [with_marks](const std::string& text, std::string* out) {
    *out += with_marks ? text : "";
  });
}

std::string OutputMarks::decode_in_json(std::string_view json) const {
  return replace_codes(json, [](const std::string& text, std::string* out) {
    std::string quoted;
    append_json_string(&quoted, text);
    out->append(quoted, 1, quoted.size() - 2);
  });
}

}  // namespace plumb
