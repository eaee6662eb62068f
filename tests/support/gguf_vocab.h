// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/metadata.h"
#include "base/status.h"

namespace plumb {

/// Reads the key-value part of a GGUF file; for tests of modules that may not use the checkpoint
/// module. Trusts the file beyond bounds checks.
class GgufVocabReader {
 public:
  static Result<Metadata> read(const std::string& path) {
    PLUMB_ASSIGN(const MappedFile file, MappedFile::open(path));
    const auto bytes = file.bytes();
    GgufVocabReader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return reader.read_all(path);
  }

 private:
  enum Type : std::uint32_t { kFloat32 = 6, kBool = 7, kString = 8, kArray = 9, kFloat64 = 12 };

  explicit GgufVocabReader(std::string_view bytes) : in_(bytes) {}

  Result<Metadata> read_all(const std::string& path) {
    Metadata metadata;
    if (take(4) != "GGUF") {
      return Status{Code::kInvalidArgument, path + ": no GGUF file"};
    }
    number<std::uint32_t>();
    number<std::uint64_t>();
    const auto num_keys = number<std::uint64_t>();
    for (std::uint64_t i = 0; i < num_keys && !failed_; ++i) {
      std::string key = string();
      const auto type = number<std::uint32_t>();
      metadata.set(std::move(key), type == kArray ? array() : scalar(type));
    }
    if (failed_) {
      return Status{Code::kDataLoss, path + ": ends inside its header"};
    }
    return metadata;
  }

  std::string_view take(std::size_t num_bytes) {
    if (num_bytes > in_.size()) {
      failed_ = true;
      in_ = {};
      return {};
    }
    const std::string_view head = in_.substr(0, num_bytes);
    in_.remove_prefix(num_bytes);
    return head;
  }

  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof(T));
    if (!bytes.empty()) {
      std::memcpy(&value, bytes.data(), sizeof(T));
    }
    return value;
  }

  std::string string() { return std::string(take(number<std::uint64_t>())); }

  double real(std::uint32_t type) {
    return type == kFloat32 ? static_cast<double>(number<float>()) : number<double>();
  }

  std::int64_t integer(std::uint32_t type) {
    switch (type) {
      case 0:
        return number<std::uint8_t>();
      case 1:
        return number<std::int8_t>();
      case 2:
        return number<std::uint16_t>();
      case 3:
        return number<std::int16_t>();
      case 4:
        return number<std::uint32_t>();
      case 5:
        return number<std::int32_t>();
      default:
        return number<std::int64_t>();
    }
  }

  Metadata::Value scalar(std::uint32_t type) {
    switch (type) {
      case kBool:
        return number<std::uint8_t>() != 0;
      case kString:
        return string();
      case kFloat32:
      case kFloat64:
        return real(type);
      default:
        return integer(type);
    }
  }

  template <class T, class Read>
  std::vector<T> list(std::uint64_t num, const Read& read_one) {
    std::vector<T> values;
    for (std::uint64_t i = 0; i < num && !failed_; ++i) {
      values.push_back(read_one());
    }
    return values;
  }

  Metadata::Value array() {
    const auto type = number<std::uint32_t>();
    const auto num = number<std::uint64_t>();
    switch (type) {
      case kBool:
        return list<bool>(num, [&] { return number<std::uint8_t>() != 0; });
      case kString:
        return list<std::string>(num, [&] { return string(); });
      case kFloat32:
      case kFloat64:
        return list<double>(num, [&] { return real(type); });
      default:
        return list<std::int64_t>(num, [&] { return integer(type); });
    }
  }

  std::string_view in_;
  bool failed_ = false;
};

inline Result<Metadata> read_gguf_vocab(const std::string& path) {
  return GgufVocabReader::read(path);
}

}  // namespace plumb
