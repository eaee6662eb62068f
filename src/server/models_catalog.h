// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"

namespace plumb {

/// What --models-catalog FILE adds to /v1/models for clients that read more of a model than the
/// list says: an array of objects, or an object whose member "models" is one. Empty for no file.
/// Errors  as read_file(); kInvalidArgument: larger than 4 MiB, not JSON (with the byte offset),
///         not of that form.
Result<JsonArray> read_models_catalog(const std::string& path);

}  // namespace plumb
