#include "io/dataset/shards/tar_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr uint64_t kPiece = uint64_t{64} << 10;
constexpr uint64_t kRecord = 512;

// The path of a member, from a folder in the archive: "./a//b", "../c/a" from "d" -> "a/b", "c/a".
std::string path_from(const std::string& folder, const std::string& path) {
  std::vector<std::string> parts;
  const std::string whole = path.starts_with('/') ? path : folder + "/" + path;
  for (size_t at = 0; at <= whole.size();) {
    const size_t end = std::min(whole.find('/', at), whole.size());
    const std::string part = whole.substr(at, end - at);
    const bool up = part == ".." && !parts.empty() && parts.back() != "..";
    if (up) parts.pop_back();
    if (!up && !part.empty() && part != ".") parts.push_back(part);
    at = end + 1;
  }
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : "/") + part;
  return result;
}

std::string text_or_empty(const char* text) { return to_text(text == nullptr ? "" : text); }

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// What a sparse file stores, and the zeros between.
std::vector<ShardPart> parts_of(archive_entry* entry, uint64_t offset, uint64_t bytes) {
  std::vector<ShardPart> parts;
  const auto add_hole = [&](uint64_t size) {
    if (size > 0) parts.push_back({offset, 0, size, kTarHole, 0, size});
  };
  uint64_t reached = 0;
  ::archive_entry_sparse_reset(entry);
  la_int64_t begin = 0, length = 0;
  while (::archive_entry_sparse_next(entry, &begin, &length) == ARCHIVE_OK) {
    const auto from = static_cast<uint64_t>(begin), size = static_cast<uint64_t>(length);
    if (from < reached || from > bytes || size > bytes - from) return {};
    add_hole(from - reached);
    if (size > 0) parts.push_back({offset, size, size, 0, 0, size});
    offset += size;
    reached = from + size;
  }
  add_hole(bytes - reached);
  return parts;
}

TarMember::Kind kind_of(archive_entry* entry) {
  using Kind = TarMember::Kind;
  // One that is written out in full is a file.
  if (::archive_entry_hardlink(entry) != nullptr && ::archive_entry_size(entry) <= 0) {
    return Kind::hard_link;
  }
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return Kind::file;
    case AE_IFLNK:
      return Kind::symbolic_link;
    case AE_IFDIR:
      return Kind::folder;
    default:
      return Kind::other;
  }
}

}  // namespace

TarMembers::TarMembers(const Storage& tier, const ObjectInfo& shard) : tier_(tier), shard_(shard) {
  check(open(0));
}

int TarMembers::open(uint64_t begin) {
  archive_.reset();  // it refers to the stream
  stream_.emplace(tier_, shard_);
  stream_->skip(begin);
  begin_ = begin;
  taken_ = 0;
  archive_.reset(::archive_read_new());
  ::archive_read_support_format_tar(archive_.get());
  return ::archive_read_open2(archive_.get(), this, nullptr, pull, skip, nullptr);
}

std::optional<TarMember> TarMembers::next() {
  while (true) {
    archive_entry* entry = nullptr;
    const int result = ::archive_read_next_header(archive_.get(), &entry);
    const bool failed = result != ARCHIVE_OK && result != ARCHIVE_WARN && !error_;
    if (result == ARCHIVE_EOF) {
      if (!open_next()) return std::nullopt;
      continue;
    }
    cut_ = failed && members_ > 0 && reason().starts_with("Truncated");
    if (cut_) return std::nullopt;
    check(result);
    ++members_;
    return member(entry);
  }
}

bool TarMembers::open_next() {
  const uint64_t end = begin_ + static_cast<uint64_t>(::archive_filter_bytes(archive_.get(), 0));
  ObjectStream rest(tier_, shard_);
  rest.skip(std::min(end, shard_.bytes));
  // Zeros fill the last block of an archive, and there may be many.
  while (rest.left() > 0) {
    const Bytes bytes = rest.peek(kPiece);
    const auto other = std::ranges::find_if(bytes, [](uint8_t byte) { return byte != 0; });
    rest.skip(static_cast<uint64_t>(other - bytes.begin()));
    if (other != bytes.end()) break;
  }
  if (rest.left() == 0) return false;
  ++archives_;
  const int result = open(end + (rest.offset() - end) / kRecord * kRecord);
  if (result == ARCHIVE_FATAL && !error_ && !has_magic()) {
    behind_ = shard_.bytes - begin_;
    return false;
  }
  check(result);
  return true;
}

// Whether the header of the archive says that it is one.
bool TarMembers::has_magic() const {
  constexpr std::string_view kMagic = "ustar";
  Buffer magic;
  tier_.read(shard_.key, magic, {std::min(begin_ + 257, shard_.bytes), kMagic.size()});
  return std::ranges::equal(magic.bytes(), kMagic);
}

TarMember TarMembers::member(archive_entry* entry) const {
  TarMember member{kind_of(entry), path_from("", text_or_empty(::archive_entry_pathname(entry)))};
  member.archive = archives_;
  if (member.kind == TarMember::Kind::hard_link) {
    member.target = path_from("", text_or_empty(::archive_entry_hardlink(entry)));
  } else if (member.kind == TarMember::Kind::symbolic_link) {
    member.target =
        path_from(folder_of(member.path), text_or_empty(::archive_entry_symlink(entry)));
  } else if (member.kind == TarMember::Kind::file) {
    member.offset = begin_ + static_cast<uint64_t>(::archive_filter_bytes(archive_.get(), 0));
    member.bytes = static_cast<uint64_t>(std::max<int64_t>(0, ::archive_entry_size(entry)));
    if (::archive_entry_sparse_count(entry) > 0) {
      member.parts = parts_of(entry, member.offset, member.bytes);
    }
  }
  return member;
}

std::string TarMembers::text(size_t most) {
  std::string text(most, '\0');
  const la_ssize_t count = ::archive_read_data(archive_.get(), text.data(), text.size());
  check(count < 0 ? static_cast<int>(count) : ARCHIVE_OK);
  text.resize(static_cast<size_t>(count));
  return text;
}

la_ssize_t TarMembers::pull(archive*, void* self, const void** block) {
  TarMembers& tar = *static_cast<TarMembers*>(self);
  try {
    tar.stream_->skip(std::exchange(tar.taken_, 0));
    const Bytes bytes = tar.stream_->peek(kPiece);
    tar.taken_ = bytes.size();
    *block = bytes.data();
    return static_cast<la_ssize_t>(bytes.size());
  } catch (...) {
    tar.error_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

la_int64_t TarMembers::skip(archive*, void* self, la_int64_t count) {
  TarMembers& tar = *static_cast<TarMembers*>(self);
  tar.stream_->skip(std::exchange(tar.taken_, 0));
  const auto most = static_cast<uint64_t>(std::max<la_int64_t>(count, 0));
  const uint64_t skipped = std::min(most, tar.stream_->left());
  tar.stream_->skip(skipped);
  return static_cast<la_int64_t>(skipped);
}

// libarchive's warnings (an odd file name) do not matter here.
void TarMembers::check(int result) const {
  if (error_) std::rethrow_exception(error_);
  if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return;
  throw Error(
      ExitCode::data,
      fmt::format("dataset: shard {} is no tar file, or a damaged or compressed one ({}{}): "
                  "repair it, unpack it, or take it out of the pattern",
                  shard_.key, reason(),
                  begin_ == 0 ? "" : fmt::format(", in what follows byte {}", begin_)));
}

std::string TarMembers::reason() const {
  const char* const text = ::archive_error_string(archive_.get());
  return text == nullptr ? "it can't be read" : text;
}

}  // namespace stoker
