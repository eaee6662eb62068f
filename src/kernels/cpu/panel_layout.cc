// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/panel_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/cpu/block_fields.h"
#include "tensor/half.h"

namespace plumb::cpu {
namespace {

/// A panel format together with its record, for code that chooses at run time.
struct PanelShape {
  PanelFormat format;
  PanelRecord record;
  int rows = 0;

  constexpr PanelShape(const PanelFormat& f, int r) : format(f), record(f, r), rows(r) {}
};

template <int R>
const PanelShape& shape_of(PanelType type) {
  static constexpr std::array<PanelShape, kNumPanelTypes> kShapes{{
      {{}, R},  // the float types have no records
      {{}, R},
      {{}, R},
      {kPanelQ4_0, R},
      {kPanelQ4_1, R},
      {kPanelQ5_0, R},
      {kPanelQ5_1, R},
      {kPanelQ8_0, R},
      {kPanelQ2_K, R},
      {kPanelQ3_K, R},
      {kPanelQ4_K, R},
      {kPanelQ5_K, R},
      {kPanelQ6_K, R},
      {kPanelIQ4_NL, R},
      {kPanelIQ4_XS, R},
      {kPanelMXFP4, R},
      {{}, R},  // neither has Q13
  }};
  return kShapes[type];
}

const PanelShape& shape_of(PanelType type, int rows) {
  return rows == 16 ? shape_of<16>(type) : shape_of<8>(type);
}

std::int64_t float_bytes(PanelType type) {
  return type == kTypeF32 ? 4 : 2;
}

bool is_float(PanelType type) {
  return type <= kTypeBF16;
}

/// Puts or takes bits [shift, shift + bits) of 32 codes to or from a plane of `bits` bits: byte i
/// of dword vector v, field f holds step v * fields + f, element 4 * step + i.
struct Plane {
  int bits;
  int shift;

  int fields() const { return 8 / bits; }

  /// The step of a field. Nibbles pair step s with s + 4, the other planes follow the order of
  /// steps.
  int step(int vector, int field) const {
    return bits == 4 ? vector + 4 * field : vector * fields() + field;
  }

  void put(const unsigned char* codes, int rows, int row, unsigned char* plane) const {
    const unsigned mask = (1U << bits) - 1U;
    for (int v = 0; v < bits; ++v) {
      unsigned char* dword = plane + (v * rows + row) * 4;
      for (int i = 0; i < 4; ++i) {
        unsigned byte = 0;
        for (int f = 0; f < fields(); ++f) {
          byte |= ((static_cast<unsigned>(codes[step(v, f) * 4 + i]) >> shift) & mask)
                  << (f * bits);
        }
        dword[i] = static_cast<unsigned char>(byte);
      }
    }
  }

  void add_to(unsigned char* codes, int rows, int row, const unsigned char* plane) const {
    const unsigned mask = (1U << bits) - 1U;
    for (int v = 0; v < bits; ++v) {
      const unsigned char* dword = plane + (v * rows + row) * 4;
      for (int f = 0; f < fields(); ++f) {
        for (int i = 0; i < 4; ++i) {
          const unsigned part = (static_cast<unsigned>(dword[i]) >> (f * bits)) & mask;
          unsigned char& code = codes[step(v, f) * 4 + i];
          code = static_cast<unsigned char>(code | part << shift);
        }
      }
    }
  }
};

void put_half(unsigned char* p, std::uint16_t v) {
  std::memcpy(p, &v, sizeof v);
}

std::uint16_t half_at(const unsigned char* p) {
  std::uint16_t v = 0;
  std::memcpy(&v, p, sizeof v);
  return v;
}

void write_row(const PanelShape& s, const BlockFields& fields, int row, unsigned char* record) {
  if (s.format.scale == ScaleKind::kExponent) {
    record[row] = static_cast<unsigned char>(fields.d);
  } else {
    put_half(record + 2 * row, fields.d);
  }
  if (s.format.min != MinKind::kNone) {
    put_half(record + s.record.min_half + 2 * row, fields.m);
  }
  for (int g = 0; g < s.format.unit / s.format.group; ++g) {
    if (s.record.mins > s.record.scales) {
      record[s.record.scales + g * s.rows + row] = fields.scales[g];
    }
    if (s.record.codes > s.record.mins) {
      record[s.record.mins + g * s.rows + row] = fields.mins[g];
    }
  }
  for (int b = 0; b < s.format.unit / 32; ++b) {
    unsigned char* plane = record + s.record.codes + b * s.record.code_bytes;
    Plane{s.format.low_bits, 0}.put(fields.codes + 32 * b, s.rows, row, plane);
    if (s.format.high_bits > 0) {
      Plane{s.format.high_bits, s.format.low_bits}.put(fields.codes + 32 * b, s.rows, row,
                                                       plane + s.record.low_bytes);
    }
  }
}

float scale_of(const PanelShape& s, const unsigned char* record, int row, int group) {
  if (s.format.scale == ScaleKind::kExponent) {
    const unsigned e = record[row];  // 2^(e - 128)
    return e >= 2 ? std::bit_cast<float>((e - 1U) << 23U) : std::bit_cast<float>(1U << (21U + e));
  }
  const float d = half_to_float(half_at(record + 2 * row));
  const unsigned char byte = record[s.record.scales + group * s.rows + row];
  switch (s.format.scale) {
    case ScaleKind::kHalfTimesU8:
      return d * static_cast<float>(byte);
    case ScaleKind::kHalfTimesI8:
      return d * static_cast<float>(static_cast<signed char>(byte));
    case ScaleKind::kHalfTimesLo:
      return d * static_cast<float>(byte & 15U);
    default:
      return d;
  }
}

float min_of(const PanelShape& s, const unsigned char* record, int row, int group) {
  const float m = half_to_float(half_at(record + s.record.min_half + 2 * row));
  switch (s.format.min) {
    case MinKind::kMinusHalfU8:
      return m * static_cast<float>(record[s.record.mins + group * s.rows + row]);
    case MinKind::kMinusHalfHi:
      return m * static_cast<float>(record[s.record.scales + group * s.rows + row] >> 4U);
    default:
      return m;
  }
}

float number_of(const PanelFormat& f, unsigned char code) {
  switch (f.map) {
    case CodeMap::kIq4:
      return static_cast<float>(kIq4Values[code]);
    case CodeMap::kFp4:
      return static_cast<float>(kFp4Values[code]);
    default:
      return static_cast<float>(code - (f.offset_log2 < 0 ? 0 : 1 << f.offset_log2));
  }
}

void unpack_record(const PanelShape& s, const unsigned char* record, int row, float* out) {
  for (int b = 0; b < s.format.unit / 32; ++b) {
    const unsigned char* plane = record + s.record.codes + b * s.record.code_bytes;
    unsigned char codes[32] = {};
    Plane{s.format.low_bits, 0}.add_to(codes, s.rows, row, plane);
    if (s.format.high_bits > 0) {
      Plane{s.format.high_bits, s.format.low_bits}.add_to(codes, s.rows, row,
                                                          plane + s.record.low_bytes);
    }
    for (int first = 0; first < 32; first += s.format.group) {
      const int group = (32 * b + first) / s.format.group;
      const float scale = scale_of(s, record, row, group);
      const float min = s.format.min == MinKind::kNone ? 0.0F : min_of(s, record, row, group);
      for (int i = first; i < first + s.format.group; ++i) {
        const float product = scale * number_of(s.format, codes[i]);
        out[32 * b + i] = s.format.min == MinKind::kNone       ? product
                          : s.format.min == MinKind::kPlusHalf ? product + min
                                                               : product - min;
      }
    }
  }
}

void unpack_float(PanelType type, const unsigned char* panel, int rows, int row, std::int64_t cols,
                  float* out) {
  for (std::int64_t k = 0; k < cols; ++k) {
    const unsigned char* p = panel + (k * rows + row) * float_bytes(type);
    if (type == kTypeF32) {
      std::memcpy(out + k, p, sizeof(float));
    } else {
      out[k] = type == kTypeF16 ? half_to_float(half_at(p)) : bfloat16_to_float(half_at(p));
    }
  }
}

void pack_q13_row(const std::byte* source, std::int64_t num_records, int rows, int row,
                  unsigned char* panel) {
  for (std::int64_t i = 0; i < num_records; ++i, panel += q13_record_bytes(rows)) {
    std::memcpy(panel + 4 * row, source, 4);
    source += 4;
    for (int step = 0; step < kQ13Elems / 2; ++step, source += 4) {
      std::memcpy(panel + (rows * (1 + step) + row) * 4, source, 4);
    }
  }
}

void unpack_q13_row(const unsigned char* panel, std::int64_t num_records, int rows, int row,
                    float* out) {
  for (std::int64_t i = 0; i < num_records; ++i, panel += q13_record_bytes(rows)) {
    float d = 0.0F;
    std::memcpy(&d, panel + 4 * row, sizeof d);
    for (int step = 0; step < kQ13Elems / 2; ++step) {
      std::int16_t pair[2];
      std::memcpy(pair, panel + (rows * (1 + step) + row) * 4, sizeof pair);
      *out++ = d * static_cast<float>(pair[0]);
      *out++ = d * static_cast<float>(pair[1]);
    }
  }
}

template <int R>
void unpack_row(const Weight& weight, std::int64_t row, float* out) {
  const PanelType type = *panel_type(weight.dtype());
  const auto* bytes = reinterpret_cast<const unsigned char*>(weight.bytes().data());
  const unsigned char* panel = bytes + row / R * panel_bytes(type, R, weight.cols());
  const int lane = static_cast<int>(row % R);
  if (is_float(type)) {
    return unpack_float(type, panel, R, lane, weight.cols(), out);
  }
  if (type == kTypeQ13) {
    return unpack_q13_row(panel, weight.cols() / kQ13Elems, R, lane, out);
  }
  const PanelShape& s = shape_of<R>(type);
  for (std::int64_t k = 0; k < weight.cols(); k += s.format.unit) {
    unpack_record(s, panel + k / s.format.unit * s.record.bytes, lane, out + k);
  }
}

constexpr WeightLayout kPanels8{"panels.r8", unpack_row<8>};
constexpr WeightLayout kPanels16{"panels.r16", unpack_row<16>};

}  // namespace

std::optional<PanelType> panel_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return kTypeF32;
    case DType::kF16:
      return kTypeF16;
    case DType::kBF16:
      return kTypeBF16;
    case DType::kQ4_0:
      return kTypeQ4_0;
    case DType::kQ4_1:
      return kTypeQ4_1;
    case DType::kQ5_0:
      return kTypeQ5_0;
    case DType::kQ5_1:
      return kTypeQ5_1;
    case DType::kQ8_0:
      return kTypeQ8_0;
    case DType::kQ2_K:
      return kTypeQ2_K;
    case DType::kQ3_K:
      return kTypeQ3_K;
    case DType::kQ4_K:
      return kTypeQ4_K;
    case DType::kQ5_K:
      return kTypeQ5_K;
    case DType::kQ6_K:
      return kTypeQ6_K;
    case DType::kIQ4_NL:
      return kTypeIQ4_NL;
    case DType::kIQ4_XS:
      return kTypeIQ4_XS;
    case DType::kMXFP4:
      return kTypeMXFP4;
    case DType::kQ13:
      return kTypeQ13;
    default:
      return std::nullopt;
  }
}

const WeightLayout& panel_layout(int rows) {
  return rows == 16 ? kPanels16 : kPanels8;
}

int panel_rows(const WeightLayout* layout) {
  return layout == &kPanels16 ? 16 : layout == &kPanels8 ? 8 : 0;
}

std::int64_t panel_bytes(PanelType type, int rows, std::int64_t cols) {
  if (is_float(type)) {
    return cols * rows * float_bytes(type);
  }
  if (type == kTypeQ13) {
    return cols / kQ13Elems * q13_record_bytes(rows);
  }
  const PanelShape& s = shape_of(type, rows);
  return cols / s.format.unit * s.record.bytes;
}

void pack_panel(const RawMatrix& raw, PanelType type, int rows, std::int64_t index,
                unsigned char* panel) {
  const std::int64_t first = index * rows;
  const int count = static_cast<int>(std::min<std::int64_t>(rows, raw.rows - first));
  const std::int64_t stride = row_bytes(raw.dtype, raw.cols);
  if (count < rows) {
    std::memset(panel, 0, static_cast<std::size_t>(panel_bytes(type, rows, raw.cols)));
  }
  for (int row = 0; row < count; ++row) {
    const std::byte* source = raw.bytes.data() + (first + row) * stride;
    if (is_float(type)) {
      const std::int64_t size = float_bytes(type);
      for (std::int64_t k = 0; k < raw.cols; ++k) {
        std::memcpy(panel + (k * rows + row) * size, source + k * size,
                    static_cast<std::size_t>(size));
      }
      continue;
    }
    if (type == kTypeQ13) {
      pack_q13_row(source, raw.cols / kQ13Elems, rows, row, panel);
      continue;
    }
    const PanelShape& s = shape_of(type, rows);
    const std::int64_t num_records = raw.cols / s.format.unit;
    BlockFields fields;
    for (std::int64_t i = 0; i < num_records; ++i) {
      read_block(type, source + i * (stride / num_records), &fields);
      write_row(s, fields, row, panel + i * s.record.bytes);
    }
  }
}

}  // namespace plumb::cpu
