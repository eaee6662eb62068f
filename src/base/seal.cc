// SPDX-License-Identifier: Apache-2.0
#include "base/seal.h"

#include <memory>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/digest.h"
#include "base/rng.h"

namespace plumb {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kMaxSealedBytes = 64 << 20;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { ::EVP_CIPHER_CTX_free(context); }
};

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string* text) {
  return reinterpret_cast<unsigned char*>(text->data());
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > kMaxSealedBytes) {
    return std::nullopt;
  }
  std::string out(text.size() / 4 * 3, '\0');
  if (::EVP_DecodeBlock(bytes_of(&out), bytes_of(text), static_cast<int>(text.size())) < 0) {
    return std::nullopt;
  }
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(out.size() - padding);
  return out;
}

}  // namespace

Seal::Seal() {
  random_bytes(key_.data(), key_.size());
}

Seal::Seal(std::string_view secret) : key_(hmac_sha256(secret, "plumb sealed reasoning")) {}

std::string Seal::close(std::string_view text, std::string_view owner) const {
  std::string out(kNonceBytes + text.size() + kTagBytes, '\0');
  random_bytes(out.data(), kNonceBytes);
  const Cipher cipher(::EVP_CIPHER_CTX_new());
  unsigned char* body = bytes_of(&out) + kNonceBytes;
  int size = 0;
  const bool is_closed =
      cipher != nullptr &&
      ::EVP_EncryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr, key_.data(),
                           bytes_of(out)) == 1 &&
      ::EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(owner),
                          static_cast<int>(owner.size())) == 1 &&
      ::EVP_EncryptUpdate(cipher.get(), body, &size, bytes_of(text),
                          static_cast<int>(text.size())) == 1 &&
      ::EVP_EncryptFinal_ex(cipher.get(), body + size, &size) == 1 &&
      ::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTagBytes),
                            body + text.size()) == 1;
  PLUMB_CHECK(is_closed, "AES-256-GCM failed");
  return to_base64({bytes_of(&out), out.size()});
}

std::optional<std::string> Seal::open(std::string_view sealed, std::string_view owner) const {
  std::optional<std::string> bytes = bytes_of_base64(sealed);
  if (!bytes.has_value() || bytes->size() < kNonceBytes + kTagBytes) {
    return std::nullopt;
  }
  const std::size_t num_bytes = bytes->size() - kNonceBytes - kTagBytes;
  std::string text(num_bytes + 1, '\0');  // never empty, so that there is a place to write to
  const Cipher cipher(::EVP_CIPHER_CTX_new());
  const unsigned char* body = bytes_of(*bytes) + kNonceBytes;
  int size = 0;
  const bool is_open =
      cipher != nullptr &&
      ::EVP_DecryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr, key_.data(),
                           bytes_of(*bytes)) == 1 &&
      ::EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(owner),
                          static_cast<int>(owner.size())) == 1 &&
      ::EVP_DecryptUpdate(cipher.get(), bytes_of(&text), &size, body,
                          static_cast<int>(num_bytes)) == 1 &&
      ::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTagBytes),
                            bytes_of(&*bytes) + kNonceBytes + num_bytes) == 1 &&
      ::EVP_DecryptFinal_ex(cipher.get(), bytes_of(&text) + num_bytes, &size) == 1;
  text.resize(num_bytes);
  return is_open ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace plumb
