#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/tools/cold/file_systems.h"
#include "io/storage/page_cache.h"

namespace stoker {

// A file that was looked at. A value.
struct SurveyedFile {
  std::string path;
  FileNumber number;
  const FileSystem* file_system = nullptr;
  uint64_t bytes = 0;
  // Absent: the kernel does not say (a file of somebody else, on an overlay or before Linux 6.5).
  std::optional<uint64_t> cached_bytes = {};
  std::vector<CachedRange> ranges = {};  // of these, where they were asked for
};

// A file or folder that could not be looked at. A value.
struct UnreadableFile {
  std::string path;
  std::string why;
};

// What of some files and folders is in the page cache. Each file counts once, however many names
// and links lead to it. Nothing is read but names. One thread.
class CacheSurvey {
 public:
  // with_ranges: also which bytes.
  explicit CacheSurvey(bool with_ranges) : with_ranges_(with_ranges) {}

  // Looks at a file, or at all files below a folder, links followed. Pipes, sockets and devices are
  // left out. IoError where nothing of that name is there.
  void add(const std::string& path);
  // Has the kernel forget what it has cached of all files, once more of those that stayed because
  // somebody was just reading them, and looks again. What cannot be written back to its device
  // becomes unreadable().
  void evict();

  const std::vector<SurveyedFile>& files() const { return files_; }
  const std::vector<UnreadableFile>& unreadable() const { return unreadable_; }

 private:
  void add_folder(const std::string& folder);
  void add_entry(const std::string& path);
  void look_at(SurveyedFile& file, int descriptor) const;
  void evict_file(SurveyedFile& file);

  const bool with_ranges_;
  FileSystems file_systems_;
  std::vector<SurveyedFile> files_;
  std::vector<UnreadableFile> unreadable_;
  std::set<FileNumber> seen_;
};

}  // namespace stoker
