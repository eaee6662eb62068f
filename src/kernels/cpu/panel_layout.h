// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/cpu/panel_format.h"
#include "ops/weight.h"

namespace plumb::cpu {

/// The panel type of a weight type; nothing for types without kernels.
std::optional<PanelType> panel_type(DType dtype);

/// Panels of 8 or 16 rows. Requires rows is one of these.
const WeightLayout& panel_layout(int rows);
/// Rows of the layout's panels, 0 if it is not one of panels.
int panel_rows(const WeightLayout* layout);

/// Bytes of a panel of `rows` rows of `cols` elements.
/// Requires cols is a multiple of the type's block.
std::int64_t panel_bytes(PanelType type, int rows, std::int64_t cols);

/// Writes panel `index` of a matrix; rows past its end are zeros.
void pack_panel(const RawMatrix& raw, PanelType type, int rows, std::int64_t index,
                unsigned char* panel);

}  // namespace plumb::cpu
