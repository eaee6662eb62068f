// SPDX-License-Identifier: Apache-2.0
#include "ops/case_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/half.h"

namespace plumb {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};
constexpr std::byte kNan{0xFF};  // four of them are a NaN, two of them a half NaN, or -1

std::int64_t element_bytes(DType dtype) {
  return traits(dtype).block_bytes;
}

std::int64_t row_width(const Tensor& tensor) {
  const std::int64_t num_rows = tensor.shape.rank() > 0 ? tensor.dim(0) : 1;
  return num_rows > 0 ? tensor.num_elements() / num_rows * element_bytes(tensor.dtype) : 0;
}

double element(DType dtype, const std::byte* at) {
  if (dtype == DType::kF16) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    return half_to_float(half);
  }
  if (dtype == DType::kI32) {
    std::int32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  float value = 0.0F;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

Tensor CaseDevice::place(DType dtype, const Shape& shape, const void* values, CasePlacement where) {
  Tensor tensor = Tensor::dense(nullptr, dtype, shape);
  tensor.row_stride += where.gap;
  if (!status_.ok()) {
    return tensor;
  }
  auto region = std::make_unique<Region>();
  const std::int64_t num_rows = shape.rank() > 0 ? shape[0] : 1;
  const std::int64_t stride = tensor.row_stride * element_bytes(dtype);
  const std::int64_t width = row_width(tensor);
  region->lead_bytes = where.lead * element_bytes(dtype);
  const auto size = static_cast<std::size_t>(region->lead_bytes + num_rows * stride);
  region->image.assign(size, kNan);
  region->image.insert(region->image.end(), kGuardBytes, kGuard);
  if (values != nullptr && width > 0) {
    for (std::int64_t row = 0; row < num_rows; ++row) {
      std::memcpy(region->image.data() + region->lead_bytes + row * stride,
                  static_cast<const char*>(values) + row * width, static_cast<std::size_t>(width));
    }
  }
  const auto num_bytes = static_cast<std::int64_t>(region->image.size());
  Result<Buffer> buffer = backend_.allocator().allocate(num_bytes);
  if (!buffer.ok()) {
    status_ = buffer.status();
    return tensor;
  }
  region->buffer = std::move(buffer).value();
  backend_.copy(region->buffer.address(), region->image.data(), num_bytes, stream_);
  if (region->buffer.address() != nullptr) {
    tensor.address = static_cast<char*>(region->buffer.address()) + region->lead_bytes;
  }
  region->tensor = tensor;
  regions_.push_back(std::move(region));
  return tensor;
}

Tensor CaseDevice::floats(const Shape& shape, std::span<const float> values, CasePlacement where) {
  PLUMB_CHECK(static_cast<std::int64_t>(values.size()) == shape.num_elements(),
              std::to_string(values.size()) + " values for " + to_text(shape));
  return place(DType::kF32, shape, values.data(), where);
}

Tensor CaseDevice::ints(const Shape& shape, std::span<const std::int32_t> values,
                        CasePlacement where) {
  PLUMB_CHECK(static_cast<std::int64_t>(values.size()) == shape.num_elements(),
              std::to_string(values.size()) + " values for " + to_text(shape));
  return place(DType::kI32, shape, values.data(), where);
}

Tensor CaseDevice::bytes(DType dtype, const Shape& shape, std::span<const std::byte> values) {
  PLUMB_CHECK(
      static_cast<std::int64_t>(values.size()) == shape.num_elements() * element_bytes(dtype),
      std::to_string(values.size()) + " bytes for " + to_text(shape));
  return place(dtype, shape, values.data(), {});
}

Tensor CaseDevice::blank(DType dtype, const Shape& shape, CasePlacement where) {
  return place(dtype, shape, nullptr, where);
}

Tensor CaseDevice::scratch(std::int64_t num_bytes) {
  const Tensor tensor = place(DType::kI8, {num_bytes}, nullptr, {});
  if (status_.ok()) {
    regions_.back()->is_scratch = true;
  }
  return tensor;
}

const Weight* CaseDevice::weight(DType dtype, std::int64_t rows, std::int64_t cols,
                                 std::vector<std::byte> raw) {
  if (!status_.ok()) {
    return nullptr;
  }
  raw_weights_.push_back(std::move(raw));
  Result<Weight> packed = backend_.pack({dtype, rows, cols, raw_weights_.back()});
  if (!packed.ok()) {
    status_ = packed.status();
    return nullptr;
  }
  weights_.push_back(std::make_unique<Weight>(std::move(packed).value()));
  return weights_.back().get();
}

void CaseDevice::result(std::string_view name, const Tensor& tensor, CaseTolerance tolerance,
                        std::span<const float> expected) {
  if (!status_.ok() || tensor.address == nullptr) {
    return;
  }
  const auto found = std::find_if(regions_.begin(), regions_.end(), [&](const auto& region) {
    return region->tensor.address == tensor.address;
  });
  PLUMB_CHECK(found != regions_.end(),
              "result '" + std::string(name) + "' is no tensor of the case");
  (*found)->is_result = true;
  CaseOutput output{std::string(name), tensor.shape, {}, std::move(tolerance), {}};
  output.expected.assign(expected.begin(), expected.end());
  wanted_.push_back({static_cast<std::size_t>(found - regions_.begin()), std::move(output)});
}

Status CaseDevice::check_traps(const Region& region, const std::vector<std::byte>& now) const {
  const std::int64_t stride = region.tensor.row_stride * element_bytes(region.tensor.dtype);
  const std::int64_t width = row_width(region.tensor);
  const auto num_bytes = static_cast<std::int64_t>(now.size());
  const std::int64_t data_end = num_bytes - static_cast<std::int64_t>(kGuardBytes);
  for (std::int64_t i = 0; i < num_bytes; ++i) {
    const bool in_data = i >= region.lead_bytes && i < data_end;
    const bool in_row = in_data && (i - region.lead_bytes) % stride < width;
    if (in_row && (region.is_result || region.is_scratch)) {
      continue;
    }
    if (now[static_cast<std::size_t>(i)] != region.image[static_cast<std::size_t>(i)]) {
      const std::string_view where = in_row    ? "an input"
                                     : in_data ? "a gap between rows"
                                               : "a guard";
      return {Code::kInternal, "wrote to " + std::string(where) + " of the tensor " +
                                   to_text(region.tensor.shape) + ", " +
                                   std::to_string(i - region.lead_bytes) + " bytes from its start"};
    }
  }
  return {};
}

Status CaseDevice::read_region(const Region& region, std::vector<std::byte>* now) {
  *now = region.image;
  const auto num_bytes = static_cast<std::int64_t>(now->size());
  backend_.copy(now->data(), region.buffer.address(), num_bytes, stream_);
  PLUMB_RETURN_IF_ERROR(stream_.synchronize());
  return check_traps(region, *now);
}

Result<std::vector<CaseOutput>> CaseDevice::read() {
  PLUMB_RETURN_IF_ERROR(status_);
  std::vector<std::vector<std::byte>> images(regions_.size());
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(read_region(*regions_[i], &images[i]));
  }
  std::vector<CaseOutput> outputs;
  for (Wanted& wanted : wanted_) {
    const Region& region = *regions_[wanted.region];
    const DType dtype = region.tensor.dtype;
    const std::int64_t stride = region.tensor.row_stride * element_bytes(dtype);
    const std::int64_t width = row_width(region.tensor);
    const std::byte* data = images[wanted.region].data() + region.lead_bytes;
    for (std::int64_t row = 0; width > 0 && row < region.tensor.dim(0); ++row) {
      for (std::int64_t at = 0; at < width; at += element_bytes(dtype)) {
        wanted.output.values.push_back(element(dtype, data + row * stride + at));
      }
    }
    outputs.push_back(std::move(wanted.output));
  }
  return outputs;
}

}  // namespace plumb
