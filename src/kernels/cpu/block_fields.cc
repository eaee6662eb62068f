// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/block_fields.h"

#include <cstring>

namespace plumb::cpu {
namespace {

using Bytes = const unsigned char*;

std::uint16_t u16_at(Bytes p) {
  std::uint16_t v = 0;
  std::memcpy(&v, p, sizeof v);
  return v;
}

unsigned char byte_of(unsigned v) {
  return static_cast<unsigned char>(v);
}

/// Two nibbles of 16 bytes: element j low, element j + 16 high.
void read_nibbles(Bytes qs, unsigned char* codes) {
  for (int j = 0; j < 16; ++j) {
    codes[j] = qs[j] & 15U;
    codes[j + 16] = byte_of(qs[j] >> 4U);
  }
}

/// Bit j of 32 is worth 16 in element j.
void add_fifth_bits(Bytes qh, unsigned char* codes) {
  for (int j = 0; j < 32; ++j) {
    codes[j] = byte_of(codes[j] | ((qh[j / 8] >> (j % 8)) & 1U) << 4U);
  }
}

void read_q8_0(Bytes b, BlockFields* f) {
  f->d = u16_at(b);
  for (int j = 0; j < 32; ++j) {
    f->codes[j] = byte_of(b[2 + j] ^ 0x80U);  // q + 128
  }
}

/// Eight pairs of 6 bits in 12 bytes.
void read_scales_and_mins(Bytes s, BlockFields* f) {
  for (int i = 0; i < 4; ++i) {
    f->scales[i] = s[i] & 63U;
    f->mins[i] = s[i + 4] & 63U;
    f->scales[i + 4] = byte_of((s[i + 8] & 15U) | static_cast<unsigned>(s[i] >> 6U) << 4U);
    f->mins[i + 4] = byte_of(static_cast<unsigned>(s[i + 8] >> 4U) |
                             static_cast<unsigned>(s[i + 4] >> 6U) << 4U);
  }
}

/// 256 nibbles: 32 low ones of 32 bytes, then their 32 high ones.
void read_nibbles_by_32(Bytes qs, unsigned char* codes) {
  for (int i = 0; i < 256; ++i) {
    codes[i] = byte_of((qs[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4)) & 15U);
  }
}

/// 256 pairs of bits: bits 2t of 32 bytes are elements 32t.. of each half.
void read_pairs(Bytes qs, unsigned char* codes) {
  for (int i = 0; i < 256; ++i) {
    codes[i] = byte_of((qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3U);
  }
}

void read_q2_k(Bytes b, BlockFields* f) {
  std::memcpy(f->scales, b, 16);
  read_pairs(b + 16, f->codes);
  f->d = u16_at(b + 80);
  f->m = u16_at(b + 82);
}

void read_q3_k(Bytes b, BlockFields* f) {
  read_pairs(b + 32, f->codes);
  for (int i = 0; i < 256; ++i) {
    f->codes[i] = byte_of(f->codes[i] | ((b[i % 32] >> (i / 32)) & 1U) << 2U);
  }
  Bytes s = b + 96;
  for (int j = 0; j < 16; ++j) {
    const unsigned low = j < 8 ? s[j] & 15U : s[j - 8] >> 4U;
    const unsigned high = (s[8 + j % 4] >> (j / 4 * 2)) & 3U;
    f->scales[j] = byte_of((low | high << 4U) - 32U);
  }
  f->d = u16_at(b + 108);
}

void read_q4_k(Bytes b, BlockFields* f) {
  f->d = u16_at(b);
  f->m = u16_at(b + 2);
  read_scales_and_mins(b + 4, f);
  read_nibbles_by_32(b + 16, f->codes);
}

void read_q5_k(Bytes b, BlockFields* f) {
  f->d = u16_at(b);
  f->m = u16_at(b + 2);
  read_scales_and_mins(b + 4, f);
  read_nibbles_by_32(b + 48, f->codes);
  for (int i = 0; i < 256; ++i) {
    f->codes[i] = byte_of(f->codes[i] | ((b[16 + i % 32] >> (i / 32)) & 1U) << 4U);
  }
}

void read_q6_k(Bytes b, BlockFields* f) {
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int quarter = i / 32 % 4;
    const int l = i % 32;
    const unsigned low = b[64 * half + 32 * (quarter & 1) + l] >> (quarter / 2 * 4);
    const unsigned high = b[128 + 32 * half + l] >> (2 * quarter);
    f->codes[i] = byte_of((low & 15U) | (high & 3U) << 4U);
  }
  std::memcpy(f->scales, b + 192, 16);
  f->d = u16_at(b + 208);
}

void read_iq4_xs(Bytes b, BlockFields* f) {
  f->d = u16_at(b);
  const unsigned high = u16_at(b + 2);
  for (int i = 0; i < 8; ++i) {
    const unsigned low = (b[4 + i / 2] >> (i % 2 * 4)) & 15U;
    f->scales[i] = byte_of((low | ((high >> (2 * i)) & 3U) << 4U) - 32U);
    read_nibbles(b + 8 + 16 * i, f->codes + 32 * i);
  }
}

}  // namespace

void read_block(PanelType type, const std::byte* block, BlockFields* f) {
  Bytes b = reinterpret_cast<Bytes>(block);
  switch (type) {
    case kTypeQ4_0:
    case kTypeIQ4_NL:
      f->d = u16_at(b);
      return read_nibbles(b + 2, f->codes);
    case kTypeQ4_1:
      f->d = u16_at(b);
      f->m = u16_at(b + 2);
      return read_nibbles(b + 4, f->codes);
    case kTypeQ5_0:
      f->d = u16_at(b);
      read_nibbles(b + 6, f->codes);
      return add_fifth_bits(b + 2, f->codes);
    case kTypeQ5_1:
      f->d = u16_at(b);
      f->m = u16_at(b + 2);
      read_nibbles(b + 8, f->codes);
      return add_fifth_bits(b + 4, f->codes);
    case kTypeQ8_0:
      return read_q8_0(b, f);
    case kTypeQ2_K:
      return read_q2_k(b, f);
    case kTypeQ3_K:
      return read_q3_k(b, f);
    case kTypeQ4_K:
      return read_q4_k(b, f);
    case kTypeQ5_K:
      return read_q5_k(b, f);
    case kTypeQ6_K:
      return read_q6_k(b, f);
    case kTypeIQ4_XS:
      return read_iq4_xs(b, f);
    case kTypeMXFP4:
      f->d = b[0];
      return read_nibbles(b + 1, f->codes);
    case kTypeF32:
    case kTypeF16:
    case kTypeBF16:
    case kTypeQ13:
      return;  // no blocks of 8 bits or less
  }
}

}  // namespace plumb::cpu
