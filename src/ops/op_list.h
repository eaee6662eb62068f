// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every op once: X(ArgumentStruct, name). The function table, the --op switch, the conformance
// sweep and the reference page are made from this list.
#define PLUMB_OP_LIST(X)               \
  X(Embedding, embedding)              \
  X(RmsNorm, rms_norm)                 \
  X(AddRmsNorm, add_rms_norm)          \
  X(Linear, linear)                    \
  X(Rope, rope)                        \
  X(Glu, glu)                          \
  X(KvAppend, kv_append)               \
  X(PagedAttention, paged_attention)   \
  X(GatherRows, gather_rows)           \
  X(Argmax, argmax)                    \
  X(LogSumExp, log_sum_exp)            \
  X(Add, add)                          \
  X(LayerNorm, layer_norm)             \
  X(Gelu, gelu)                        \
  X(VarlenAttention, varlen_attention) \
  X(Pool, pool)
