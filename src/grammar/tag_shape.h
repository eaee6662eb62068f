// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grammar/structural_tag.h"

namespace plumb {

/// Whether the empty text is one of the format's.
bool is_nullable(const TagFormat& format);

/// Whether its texts may go on until something else begins.
bool is_open(const TagFormat& format);

}  // namespace plumb
