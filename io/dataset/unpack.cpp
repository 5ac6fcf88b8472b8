#include "io/dataset/unpack.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
constexpr size_t kArchiveBlock = 64 * 1024;

// An archive being read.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)), archive_(::archive_read_new()) {
    ::archive_read_support_filter_gzip(archive_.get());
    ::archive_read_support_format_tar(archive_.get());
    ::archive_read_support_format_zip(archive_.get());
  }

  void open() { check(::archive_read_open_filename(archive_.get(), name_.c_str(), kArchiveBlock)); }
  void open(Bytes archive) {
    check(::archive_read_open_memory(archive_.get(), archive.data(), archive.size()));
  }
  // Reads the archive that is the current file of `outer`.
  void open(const Reader& outer) {
    outer_ = outer.archive_.get();
    check(::archive_read_open(archive_.get(), this, nullptr, pull, nullptr));
  }

  // Null: the end.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    const int result = ::archive_read_next_header(archive_.get(), &entry);
    if (result == ARCHIVE_EOF) return nullptr;
    check(result);
    return entry;
  }

  bool is_zip() const {
    return (::archive_format(archive_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP;
  }

  std::vector<uint8_t> contents(int64_t size) {
    std::vector<uint8_t> bytes(static_cast<size_t>(size));
    for (size_t done = 0; done < bytes.size();) {
      const la_ssize_t count =
          ::archive_read_data(archive_.get(), bytes.data() + done, bytes.size() - done);
      if (count < 0) check(static_cast<int>(count));
      if (count <= 0) fail("it ends in the middle of a file");
      done += static_cast<size_t>(count);
    }
    return bytes;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ExitCode::environment, "unpack " + name_ + ": " + why);
  }

 private:
  // libarchive warns of an odd file name, for example, which does not matter here.
  void check(int result) const {
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return;
    const char* text = ::archive_error_string(archive_.get());
    fail(text != nullptr ? text : "it cannot be read");
  }

  static la_ssize_t pull(archive* inner, void* self, const void** block) {
    Reader& reader = *static_cast<Reader*>(self);
    *block = reader.block_.data();
    const la_ssize_t count =
        ::archive_read_data(reader.outer_, reader.block_.data(), reader.block_.size());
    if (count < 0) ::archive_set_error(inner, -1, "%s", ::archive_error_string(reader.outer_));
    return count;
  }

  std::string name_;
  archive* outer_ = nullptr;
  std::array<uint8_t, kArchiveBlock> block_{};
  std::unique_ptr<archive, decltype([](archive* a) { ::archive_read_free(a); })> archive_;
};

// "./a//b" -> "a/b".
std::string clean(const Reader& reader, const std::filesystem::path& path) {
  if (path.is_absolute() ||
      std::ranges::any_of(path, [](const auto& part) { return part == ".."; })) {
    reader.fail("the path '" + path.string() + "' in it leads out of the target folder");
  }
  const std::string normal = path.lexically_normal().string();
  return normal == "." ? "" : normal;
}

// Passes the files from `entry` on.
void unpack_tar(Reader& reader, archive_entry* entry,
                const std::function<void(UnpackedFile)>& sink) {
  for (; entry != nullptr; entry = reader.next()) {
    if (::archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* name = ::archive_entry_pathname(entry);
    const std::string path = clean(reader, name == nullptr ? "" : name);
    if (!std::filesystem::path(path).has_filename()) reader.fail("it has a file without a name");
    const int64_t size = ::archive_entry_size(entry);
    if (size < 0 || size > kMaxFileBytes) reader.fail("'" + path + "' in it is above 64 MiB");
    sink({to_text(path), reader.contents(size)});
  }
}

bool is_named(archive_entry* entry, const std::string& name) {
  const char* pathname = ::archive_entry_pathname(entry);
  const std::string path = pathname == nullptr ? "" : pathname;
  return path == name || path.ends_with("/" + name);
}

// `name` is the name of the archive that `outer` has opened.
void unpack_opened(Reader& outer, const std::string& name, const std::string& inner,
                   const std::function<void(UnpackedFile)>& sink) {
  archive_entry* entry = outer.next();
  if (!outer.is_zip()) return unpack_tar(outer, entry, sink);
  while (entry != nullptr && !is_named(entry, inner)) entry = outer.next();
  if (entry == nullptr) outer.fail("there is no " + inner + " in it");
  Reader tar(name + " (" + inner + ")");
  tar.open(outer);
  unpack_tar(tar, tar.next(), sink);
}

}  // namespace

void unpack(const std::string& archive, const std::string& inner,
            const std::function<void(UnpackedFile)>& sink) {
  Reader reader(archive);
  reader.open();
  unpack_opened(reader, archive, inner, sink);
}

void unpack(Bytes archive, const std::string& name, const std::string& inner,
            const std::function<void(UnpackedFile)>& sink) {
  Reader reader(name);
  reader.open(archive);
  unpack_opened(reader, name, inner, sink);
}

}  // namespace stoker
