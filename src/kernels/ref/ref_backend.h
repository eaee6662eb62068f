// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ops/backend.h"

namespace plumb {

/// The back end that defines right answers: one thread, double sums, weights as in the file.
///
/// It reads weights of any layout through Weight::unpack_row, so that its ops can replace those of
/// a faster back end one by one. pack() refers to the bytes it is given.
std::unique_ptr<Backend> make_ref_backend();

}  // namespace plumb
