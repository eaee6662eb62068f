// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/compare.h"

#include <string>

namespace plumb {
namespace {

Status tensor_difference(const TensorRecord& record, const std::string& what) {
  return {Code::kInvalidArgument, "tensor " + record.name + ": " + what};
}

}  // namespace

Status check_same_tensors(const Checkpoint& expected, const Checkpoint& found) {
  for (const TensorRecord& record : expected.tensors()) {
    const TensorRecord* other = found.find(record.name);
    if (other == nullptr) {
      return tensor_difference(record, "missing");
    }
    if (other->dims != record.dims) {
      return tensor_difference(
          record, "is " + dims_to_text(other->dims) + ", expected " + dims_to_text(record.dims));
    }
    if (other->type_name != record.type_name) {
      return tensor_difference(record, "is " + other->type_name + ", expected " + record.type_name);
    }
  }
  for (const TensorRecord& record : found.tensors()) {
    if (expected.find(record.name) == nullptr) {
      return tensor_difference(record, "not expected");
    }
  }
  return {};
}

}  // namespace plumb
