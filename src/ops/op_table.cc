// SPDX-License-Identifier: Apache-2.0
#include "ops/op_table.h"

#include <string>

namespace plumb {

std::vector<std::string_view> op_names() {
  return {
#define PLUMB_OP_NAME(Args, name) #name,
      PLUMB_OP_LIST(PLUMB_OP_NAME)
#undef PLUMB_OP_NAME
  };
}

std::vector<std::string_view> missing_ops(const OpTable& table) {
  std::vector<std::string_view> missing;
#define PLUMB_OP_MISSING(Args, name) \
  if (table.name == nullptr) {       \
    missing.push_back(#name);        \
  }
  PLUMB_OP_LIST(PLUMB_OP_MISSING)
#undef PLUMB_OP_MISSING
  return missing;
}

Status replace_op(OpTable* table, std::string_view name, const OpTable& from) {
#define PLUMB_OP_REPLACE(Args, op)                                                        \
  if (name == #op) {                                                                      \
    if (from.op == nullptr) {                                                             \
      return {Code::kUnsupported, "that back end has no op '" + std::string(name) + "'"}; \
    }                                                                                     \
    table->op = from.op;                                                                  \
    return {};                                                                            \
  }
  PLUMB_OP_LIST(PLUMB_OP_REPLACE)
#undef PLUMB_OP_REPLACE
  std::string known;
  for (const std::string_view op : op_names()) {
    known += (known.empty() ? "" : ", ") + std::string(op);
  }
  return {Code::kInvalidArgument,
          "unknown op '" + std::string(name) + "', expected one of " + known};
}

}  // namespace plumb
