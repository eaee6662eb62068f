// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::cpu {

/// Types that have panels, the index of a kernel table.
enum PanelType : unsigned char {
  kTypeF32,
  kTypeF16,
  kTypeBF16,
  kTypeQ4_0,
  kTypeQ4_1,
  kTypeQ5_0,
  kTypeQ5_1,
  kTypeQ8_0,
  kTypeQ2_K,
  kTypeQ3_K,
  kTypeQ4_K,
  kTypeQ5_K,
  kTypeQ6_K,
  kTypeIQ4_NL,
  kTypeIQ4_XS,
  kTypeMXFP4,
  kTypeQ13,
};

inline constexpr int kNumPanelTypes = 17;

/// Q13 in panels of R rows: for each 128 elements d f32[R], then 64 steps of R dwords, each with
/// two neighbouring elements of a row.
inline constexpr int kQ13Elems = 128;
inline constexpr int kQ13Most = 4095;

constexpr int q13_record_bytes(int rows) {
  return rows * (4 + 2 * kQ13Elems);
}

enum class ScaleKind : unsigned char {
  kHalf,         ///< d: f16 of the record
  kExponent,     ///< 2^(e-128): one byte of the record
  kHalfTimesU8,  ///< d times an unsigned byte of each group
  kHalfTimesI8,  ///< d times a signed byte of each group
  kHalfTimesLo,  ///< d times the low nibble of a byte of each group
};

enum class MinKind : unsigned char {
  kNone,
  kPlusHalf,     ///< value + m, m: f16 of the record
  kMinusHalfU8,  ///< value - dmin times an unsigned byte of each group
  kMinusHalfHi,  ///< value - dmin times the high nibble of the group's scale byte
};

enum class CodeMap : unsigned char {
  kLinear,  ///< the code is the number
  kIq4,     ///< the nibble selects one of 16 numbers (IQ4), stored + 128
  kFp4,     ///< the nibble is a doubled E2M1 number, stored + 16
};

/// How a block format of 8 bits or less lies in a panel of R rows (16 or 8).
///
/// A panel is a sequence of records along K, each of `unit` elements of R rows:
///
///     d      R x f16 (kExponent: R bytes)
///     m      R x f16, with a min
///     scale  unit/group x R bytes, with group scales
///     min    unit/group x R bytes, with kMinusHalfU8
///     codes  for each 32 elements: the low plane, then the high plane
///
/// The codes of 32 elements are eight steps of four elements; lane r (a dword) of a step's vector
/// holds elements 4s..4s+3 of row r in its bytes, as dpbusd and maddubs want them.
///
///     low 8 bits   step s = dword vector s
///     low 4 bits   step s = low nibbles of vector s (s < 4), high nibbles of vector s-4
///     low 2 bits   step s = bits 2(s%4).. of the bytes of vector s/4
///     high 2 bits  as low 2 bits, worth 16
///     high 1 bit   bit s of each byte of one vector, worth 2^low
///
/// A number is map(code) - 2^offset_log2 (offset_log2 < 0: no offset), times the scale of its
/// group, then plus or minus the group's min.
struct PanelFormat {
  int unit = 32;
  int group = 32;
  int low_bits = 4;
  int high_bits = 0;
  int offset_log2 = -1;
  ScaleKind scale = ScaleKind::kHalf;
  MinKind min = MinKind::kNone;
  CodeMap map = CodeMap::kLinear;
};

inline constexpr PanelFormat kPanelQ4_0{.offset_log2 = 3};
inline constexpr PanelFormat kPanelQ4_1{.min = MinKind::kPlusHalf};
inline constexpr PanelFormat kPanelQ5_0{.high_bits = 1, .offset_log2 = 4};
inline constexpr PanelFormat kPanelQ5_1{.high_bits = 1, .min = MinKind::kPlusHalf};
inline constexpr PanelFormat kPanelQ8_0{.low_bits = 8, .offset_log2 = 7};
inline constexpr PanelFormat kPanelQ2_K{.unit = 256,
                                        .group = 16,
                                        .low_bits = 2,
                                        .scale = ScaleKind::kHalfTimesLo,
                                        .min = MinKind::kMinusHalfHi};
inline constexpr PanelFormat kPanelQ3_K{.unit = 256,
                                        .group = 16,
                                        .low_bits = 2,
                                        .high_bits = 1,
                                        .offset_log2 = 2,
                                        .scale = ScaleKind::kHalfTimesI8};
inline constexpr PanelFormat kPanelQ4_K{
    .unit = 256, .scale = ScaleKind::kHalfTimesU8, .min = MinKind::kMinusHalfU8};
inline constexpr PanelFormat kPanelQ5_K{
    .unit = 256, .high_bits = 1, .scale = ScaleKind::kHalfTimesU8, .min = MinKind::kMinusHalfU8};
inline constexpr PanelFormat kPanelQ6_K{
    .unit = 256, .group = 16, .high_bits = 2, .offset_log2 = 5, .scale = ScaleKind::kHalfTimesI8};
inline constexpr PanelFormat kPanelIQ4_NL{.offset_log2 = 7, .map = CodeMap::kIq4};
inline constexpr PanelFormat kPanelIQ4_XS{
    .unit = 256, .offset_log2 = 7, .scale = ScaleKind::kHalfTimesI8, .map = CodeMap::kIq4};
inline constexpr PanelFormat kPanelMXFP4{
    .offset_log2 = 4, .scale = ScaleKind::kExponent, .map = CodeMap::kFp4};

/// Byte offsets inside a record of R rows. Used in constant expressions only, so that no symbol is
/// left behind by a file of wider instructions.
struct PanelRecord {
  int min_half = 0;    ///< m or dmin
  int scales = 0;      ///< bytes of groups
  int mins = 0;        ///< bytes of groups
  int codes = 0;       ///< first 32 elements
  int code_bytes = 0;  ///< of 32 elements of all rows
  int low_bytes = 0;   ///< the low plane's share of code_bytes
  int bytes = 0;       ///< of the record

  constexpr PanelRecord(const PanelFormat& f, int rows) {
    const bool has_groups = f.scale != ScaleKind::kHalf && f.scale != ScaleKind::kExponent;
    const int group_bytes = f.unit / f.group * rows;
    min_half = f.scale == ScaleKind::kExponent ? rows : 2 * rows;
    scales = min_half + (f.min == MinKind::kNone ? 0 : 2 * rows);
    mins = scales + (has_groups ? group_bytes : 0);
    codes = mins + (f.min == MinKind::kMinusHalfU8 ? group_bytes : 0);
    low_bytes = rows * 4 * f.low_bits;
    code_bytes = low_bytes + rows * 4 * f.high_bits;
    bytes = codes + f.unit / 32 * code_bytes;
  }
};

/// Numbers of the 16 codes, without offset.
inline constexpr signed char kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr signed char kFp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                               0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace plumb::cpu
