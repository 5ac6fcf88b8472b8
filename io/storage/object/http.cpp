#include <algorithm>
#include <cerrno>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/text.h"
#include "io/http/transport.h"
#include "io/storage/keys.h"
#include "io/storage/object/http_listing.h"
#include "io/storage/object/object_errors.h"
#include "io/storage/object/object_reads.h"
#include "io/storage/storage.h"
#include "io/storage/tail/hedged_reads.h"

namespace stoker {
namespace {

enum class HttpLists { none, json };
EnumNames<HttpLists> enum_names(HttpLists) {
  return {{"none", HttpLists::none}, {"json", HttpLists::json}};
}

struct HttpOptions {
  std::string url;
  std::optional<KeyPath> index;
  HttpLists listing = HttpLists::none;
  TransferOptions transfers;
  template <class V>
  void visit(V& v) {
    v.required("url", url, "The URL where the objects are. Keys are added behind it.");
    v("index", index,
      "The key of an object that lists all others, a line for each: the size in bytes, a tab and "
      "the key, or the key alone, whose size is then asked for.");
    v("listing", listing,
      "How the server lists directories. json: as nginx does by `autoindex on; autoindex_format "
      "json`. none: not at all.");
    transfers.visit(v);
  }
  StorageInfo info() const { return {.read_only = true}; }
  void check(const Section& section) const {
    check_url(section, "url", url);
    if (index && listing != HttpLists::none) {
      section.fail("index", "excludes `listing`: leave one of the two out");
    }
    transfers.check(section);
  }
};

constexpr size_t kDeepestTree = 64;
constexpr size_t kHeadsUnderWay = 1024;

std::string with_slash(std::string url) {
  if (!url.ends_with('/')) url += '/';
  return url;
}

HttpTransport::Inputs following(HttpTransport::Inputs inputs) {
  inputs.limits.redirects = true;
  return inputs;
}

// Objects of a web server. Read-only.
class HttpStorage final : public Storage {
 public:
  using Options = HttpOptions;
  HttpStorage(const Options& options, const Inputs& inputs)
      : place_{with_slash(options.url), false, options.index.value_or(KeyPath()).value},
        lists_(options.listing),
        transport_(new_http_transport(following(options.transfers.transport(inputs)))),
        reads_(*transport_, place_, options.transfers.reads()),
        hedged_(hedged_reads(options.transfers.tail, inputs.meter,
                             [this](const std::string& key, Buffer& out, Range range) {
                               reads_.read(key, out, range);
                             })) {}

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    const bool indexed = !place_.index.empty();
    std::vector<KnownObjects::Seen> seen = indexed ? list_index(prefix) : list_directories(prefix);
    reads_.known().add_listed(reads_.known().changes(), seen);
    std::vector<ObjectInfo> objects;
    objects.reserve(seen.size());
    for (KnownObjects::Seen& one : seen) {
      objects.push_back({std::move(one.key), one.version.bytes});
    }
    std::ranges::sort(objects, {}, &ObjectInfo::key);
    return objects;
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    if (!hedged_) return reads_.read(key, out, range);
    hedged_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override { refuse("write", key); }
  void remove(const std::string& key) override { refuse("remove", key); }
  void expect(std::span<const ObjectRange> reads) const override { reads_.expect(reads); }

 private:
  [[noreturn]] void refuse(const std::string& operation, const std::string& key) const {
    check_key(key);
    throw IoError(place_.shown(operation, key) +
                      ": a tier of type http is read-only; write to a tier of type s3 or posix",
                  EROFS);
  }

  template <class F>
  static auto parsed(const std::string& shown, const F& parse) {
    try {
      return parse();
    } catch (const IoError&) {
      throw;
    } catch (const Error& error) {
      throw IoError(shown + ": " + error.what(), EIO);
    }
  }

  std::vector<KnownObjects::Seen> list_index(const std::string& prefix) const {
    { const ObjectReads::Change another(reads_, place_.index); }  // than the last listing was of
    Buffer text;
    reads_.read(place_.index, text, {});
    const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
    std::vector<IndexLine> lines =
        parsed(place_.shown("list", place_.index), [&] { return parse_index(view); });
    std::erase_if(lines, [&](const IndexLine& line) { return !line.key.starts_with(prefix); });
    std::vector<KnownObjects::Seen> seen;
    seen.reserve(lines.size());
    for (size_t begin = 0; begin < lines.size(); begin += kHeadsUnderWay) {
      add_sizes(std::span(lines).subspan(begin, std::min(kHeadsUnderWay, lines.size() - begin)),
                seen);
    }
    return seen;
  }

  void add_sizes(std::span<const IndexLine> lines, std::vector<KnownObjects::Seen>& seen) const {
    std::vector<std::future<HttpAnswer>> heads(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].bytes) heads[i] = reads_.ask_version(lines[i].key);
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string& key = lines[i].key;
      const uint64_t bytes = lines[i].bytes ? *lines[i].bytes : size_of(key, std::move(heads[i]));
      seen.push_back({key, {bytes, "", lines[i].bytes.has_value()}});
    }
  }

  uint64_t size_of(const std::string& key, std::future<HttpAnswer> head) const {
    try {
      return reads_.version_of(key, HttpTransport::get(std::move(head))).bytes;
    } catch (const IoError& error) {
      if (error.errno_value() != ENOENT) throw;
      throw IoError(place_.shown("list", place_.index) + ": it names '" + key +
                        "', and there is no such file; a line is the size, a tab and the key, or "
                        "the key alone",
                    EIO);
    }
  }

  struct Directory {
    std::string key;  // with a "/" at its end; empty: the top
    std::future<HttpAnswer> answer;
  };

  Directory ask(const std::string& key) const {
    return {key,
            transport_->start({.url = place_.url_of(key), .shown = place_.shown("list", key)})};
  }

  // Level by level, each level's directories side by side.
  std::vector<KnownObjects::Seen> list_directories(const std::string& prefix) const {
    if (lists_ == HttpLists::none) {
      throw IoError(place_.shown("list", prefix) +
                        ": HTTP has no listing: give `index`, or `listing: json` where the server "
                        "is set up for it",
                    ENOTSUP);
    }
    std::vector<KnownObjects::Seen> seen;
    std::vector<Directory> level;
    const std::string top = prefix.substr(0, prefix.rfind('/') + 1);
    level.push_back(ask(top));
    for (size_t depth = 0; !level.empty(); ++depth) {
      if (depth > kDeepestTree) {
        throw IoError(place_.shown("list", level.front().key) +
                          ": more than 64 directories deep; does a link lead to its own parent?",
                      ELOOP);
      }
      std::vector<Directory> next;
      for (Directory& directory : level) add_entries(directory, prefix, seen, next);
      level = std::move(next);
    }
    return seen;
  }

  void add_entries(Directory& directory, const std::string& prefix,
                   std::vector<KnownObjects::Seen>& seen, std::vector<Directory>& next) const {
    const std::string shown = place_.shown("list", directory.key);
    const HttpAnswer answer = HttpTransport::get(std::move(directory.answer));
    if (answer.head.status == 404 && !directory.key.empty()) return;
    if (answer.head.status != 200 && in_system_folder(directory.key)) return;
    if (answer.head.status != 200) throw_answer(shown, answer, place_);
    if (lower_case(answer.head.type).starts_with("text/html")) {
      throw IoError(shown +
                        ": the server lists in HTML: set `autoindex_format json` on it, or give "
                        "`index`",
                    EIO);
    }
    const std::vector<DirectoryEntry> entries =
        parsed(shown, [&] { return parse_directory(answer.text); });
    if (entries.empty() && !directory.key.empty() && directory.key.starts_with(prefix)) {
      seen.push_back({directory.key, {0, "", true}});
    }
    for (const DirectoryEntry& entry : entries) {
      if (is_temporary(entry.name)) continue;  // being written, as a posix tier has it
      std::string key = directory.key + entry.name;
      if (entry.directory) {
        key += '/';
        if (key.starts_with(prefix) || prefix.starts_with(key)) next.push_back(ask(key));
      } else if (key.starts_with(prefix)) {
        seen.push_back({std::move(key), {entry.bytes, "", true}});
      }
    }
  }

  const ObjectPlace place_;
  const HttpLists lists_;
  const std::unique_ptr<HttpTransport> transport_;
  mutable ObjectReads reads_;
  const std::unique_ptr<HedgedReads> hedged_;  // null: no read is sent twice
};

STOKER_REGISTER(Storage, "http", HttpStorage);

}  // namespace
}  // namespace stoker
