// SPDX-License-Identifier: Apache-2.0
#include "frontend/offline_output.h"

#include <utility>

#include "base/digest.h"
#include "base/text.h"

namespace plumb {
namespace {

std::string id_of_record(const Json& record) {
  for (const char* name : {"custom_id", "id"}) {
    const Json* field = record.find(name);
    if (field != nullptr && field->is_string()) {
      return field->as_string();
    }
  }
  return {};
}

// Of either format: {"error":{…}}, or a response with another status than 200.
bool is_error(const Json& record) {
  const Json* error = record.find("error");
  const Json* response = record.find("response");
  const Json* status = response == nullptr ? nullptr : response->find("status_code");
  return (error != nullptr && !error->is_null()) || (status != nullptr && *status != Json(200));
}

// Checks or writes the file that ties the results to the run that they belong to.
Status bind_to_run(const std::string& path, std::string_view input_content,
                   const std::string& model) {
  const std::string run_path = path + ".run";
  const JsonObject own{{"input_sha256", to_hex(sha256(input_content))}, {"model", model}};
  if (!file_exists(run_path)) {
    if (file_exists(path)) {
      PLUMB_ASSIGN(const std::string content, read_file(path));
      if (!content.empty()) {
        return {Code::kInvalidArgument, path +
                                            ": exists and is not the result of an earlier run (" +
                                            run_path + " is missing); give another --output"};
      }
    }
    return write_file_atomic(run_path, to_text(own) + "\n");
  }
  PLUMB_ASSIGN(const std::string content, read_file(run_path, 1 << 16));
  const Result<Json> run = parse_json(content);
  const auto is_other = [&](const char* key) {
    const Json* recorded = run.ok() ? run.value().find(key) : nullptr;
    return recorded == nullptr || *recorded != *own.find(key);
  };
  const char* why = is_other("input_sha256") ? "another input: the input file has changed"
                    : is_other("model")      ? "another model or version: it has changed"
                                             : nullptr;
  if (why != nullptr) {
    return {Code::kInvalidArgument,
            path + ": belongs to " + why + " since the run began (" + run_path +
                "); give another --output, or delete both files to begin anew"};
  }
  return {};
}

}  // namespace

Status OfflineOutput::recover(const std::string& path) {
  PLUMB_ASSIGN(const std::string content, read_file(path, std::uint64_t{1} << 36));
  std::string_view rest = content;
  std::uint64_t kept = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const Result<Json> record = parse_json(rest.substr(0, end));
    if (end == std::string_view::npos || !record.ok() || id_of_record(record.value()).empty()) {
      break;
    }
    done_.insert(id_of_record(record.value()));
    num_failed_ += is_error(record.value()) ? 1 : 0;
    kept += end + 1;
    rest.remove_prefix(end + 1);
  }
  if (rest.find('\n') != std::string_view::npos) {
    return {Code::kDataLoss, path + ": byte " + std::to_string(kept) +
                                 " does not begin a result; the file was changed"};
  }
  dropped_ = !rest.empty();
  PLUMB_RETURN_IF_ERROR(dropped_ ? file_->truncate(kept) : Status());
  return file_->sync();
}

Result<OfflineOutput> OfflineOutput::open(const std::string& path, std::string_view input_content,
                                          const std::string& model) {
  OfflineOutput output;
  PLUMB_ASSIGN(AppendFile file, AppendFile::open(path));
  output.file_ = std::make_unique<AppendFile>(std::move(file));
  PLUMB_RETURN_IF_ERROR(bind_to_run(path, input_content, model));
  PLUMB_RETURN_IF_ERROR(output.recover(path));
  return output;
}

Status OfflineOutput::append(const std::string& id, const Json& record) {
  PLUMB_RETURN_IF_ERROR(file_->append(to_text(record) + "\n"));
  done_.insert(id);
  num_failed_ += is_error(record) ? 1 : 0;
  is_dirty_ = true;
  return {};
}

Status OfflineOutput::commit() {
  if (!is_dirty_) {
    return {};
  }
  is_dirty_ = false;
  return file_->sync();
}

}  // namespace plumb
