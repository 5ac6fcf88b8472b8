#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

using ArchiveFiles = std::vector<std::pair<std::string, std::string>>;  // path, contents

// An archive in memory.
inline std::string make_archive(const ArchiveFiles& files, int format, bool gzip) {
  const std::unique_ptr<archive, int (*)(archive*)> writer(::archive_write_new(),
                                                           ::archive_write_free);
  ::archive_write_set_format(writer.get(), format);
  if (gzip) ::archive_write_add_filter_gzip(writer.get());
  std::string bytes;
  const auto grow = [](archive*, void* target, const void* data, size_t size) -> la_ssize_t {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
  };
  ::archive_write_set_bytes_in_last_block(writer.get(), 1);
  ::archive_write_open(writer.get(), &bytes, nullptr, grow, nullptr);
  for (const auto& [path, contents] : files) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(),
                                                                         ::archive_entry_free);
    ::archive_entry_set_pathname(entry.get(), path.c_str());
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(contents.size()));
    ::archive_entry_set_filetype(entry.get(), path.ends_with('/') ? AE_IFDIR : AE_IFREG);
    ::archive_entry_set_perm(entry.get(), 0644);
    if (::archive_write_header(writer.get(), entry.get()) != ARCHIVE_OK) {
      throw std::runtime_error(::archive_error_string(writer.get()));
    }
    ::archive_write_data(writer.get(), contents.data(), contents.size());
  }
  ::archive_write_close(writer.get());
  return bytes;
}

inline std::string make_tar_gz(const ArchiveFiles& files) {
  return make_archive(files, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, true);
}
inline std::string make_zip(const ArchiveFiles& files) {
  return make_archive(files, ARCHIVE_FORMAT_ZIP, false);
}

// The JPEG files of datasets/caltech101-mini as "101_ObjectCategories/<class>/<file>".
inline ArchiveFiles mini_files() {
  const std::filesystem::path root = std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini";
  ArchiveFiles files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".jpg") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back("101_ObjectCategories/" + entry.path().lexically_relative(root).string(),
                       std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return files;
}

// A zip as Caltech publishes it, with what macOS adds to it.
inline std::string make_published_zip(const ArchiveFiles& files) {
  return make_zip({{"caltech-101/", ""},
                   {"__MACOSX/caltech-101/._101_ObjectCategories.tar.gz", "resource fork"},
                   {"caltech-101/Annotations.tar", "no images"},
                   {"caltech-101/101_ObjectCategories.tar.gz", make_tar_gz(files)},
                   {"caltech-101/show_annotation.m", "a script"}});
}

}  // namespace stoker
