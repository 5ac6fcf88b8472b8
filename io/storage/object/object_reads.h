#pragma once

#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/http/transport.h"
#include "io/storage/expected_reads.h"
#include "io/storage/object/object_place.h"
#include "io/storage/storage.h"

namespace stoker {

// Reading objects over HTTP: Storage::read() and expect() of the tiers http and s3. Any thread.
//
// A range is asked for in parts, all in flight at once, each straight into its place. If-Match, and
// the ETag and total size of each answer, make sure that all parts of an object, and of later reads
// of it, are of one version. Else: IoError with ESTALE.
class ObjectReads {
 public:
  struct Settings {
    uint64_t part = uint64_t{8} << 20;
    uint64_t ahead = uint64_t{64} << 20;
  };
  // `transport` must outlive it. Only the transport's destructor ends what is read ahead.
  ObjectReads(HttpTransport& transport, ObjectPlace place, Settings settings);

  void read(const std::string& key, Buffer& out, Range range);
  void expect(std::span<const ObjectRange> reads);
  // The size and ETag of one object, asked for where they are not known. IoError.
  ObjectVersion version(const std::string& key);
  // The same in two steps, so that many can be under way.
  std::future<HttpAnswer> ask_version(const std::string& key);
  ObjectVersion version_of(const std::string& key, const HttpAnswer& answer) const;
  // Lives while we replace or remove an object. What was known of it, or read ahead, is forgotten.
  class Change {
   public:
    Change(ObjectReads& reads, const std::string& key);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    ObjectReads& reads_;
    const std::string key_;
  };
  KnownObjects& known() { return known_; }

 private:
  struct Ahead;
  using Answers = std::vector<std::future<HttpAnswer>>;

  void read_once(const std::string& key, Buffer& out, Range range);
  ObjectVersion read_first(const std::string& key, Buffer& out, Range range, uint64_t& done);
  void read_parts(const std::string& key, const ObjectVersion& version, uint64_t begin,
                  std::span<uint8_t> out);
  HttpRequest part_request(const std::string& key, const ObjectVersion& version, uint64_t offset,
                           std::span<uint8_t> out) const;
  void start_parts(const std::string& key, const ObjectVersion& version, uint64_t begin,
                   std::span<uint8_t> out, Answers& answers) const;
  std::shared_ptr<Ahead> begin_ahead(const ExpectedRead& what) const;

  HttpTransport& transport_;
  const ObjectPlace place_;
  const Settings settings_;
  KnownObjects known_;
  ExpectedReads<std::shared_ptr<Ahead>> expected_;
};

}  // namespace stoker
