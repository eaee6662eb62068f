// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "ops/add.h"
#include "ops/embedding.h"
#include "ops/gelu.h"
#include "ops/glu.h"
#include "ops/kv_append.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/op_list.h"
#include "ops/paged_attention.h"
#include "ops/pool.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/rows.h"
#include "ops/varlen_attention.h"
#include "tensor/device.h"

namespace plumb {

/// One function per op: what a back end implements, or a mix of back ends (`--op NAME=ref`). Null =
/// not offered.
struct OpTable {
#define PLUMB_OP_MEMBER(Args, name) void (*name)(const Args& args, Stream& stream) = nullptr;
  PLUMB_OP_LIST(PLUMB_OP_MEMBER)
#undef PLUMB_OP_MEMBER
};

/// The names of all ops in list order.
std::vector<std::string_view> op_names();
/// Names of the ops that the table lacks.
std::vector<std::string_view> missing_ops(const OpTable& table);
/// Takes the op `name` from `from`. Errors: kInvalidArgument for an unknown name (the known ones
/// are listed), kUnsupported when `from` lacks it.
Status replace_op(OpTable* table, std::string_view name, const OpTable& from);

}  // namespace plumb
