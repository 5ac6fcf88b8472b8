#pragma once

#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/core/config/config.h"
#include "io/http/transport.h"
#include "io/storage/expected_reads.h"
#include "io/storage/object/object_place.h"
#include "io/storage/storage.h"
#include "io/storage/tail/hedged_reads.h"

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

// What the tiers over HTTP have in common. A value.
struct TransferOptions {
  AutoCount in_flight;
  ByteSize part{uint64_t{8} << 20};
  ByteSize ahead{uint64_t{64} << 20};
  Duration timeout{60'000};
  int64_t retries = 6;
  std::optional<Path> ca_file;
  TailOptions tail;
  template <class V>
  void visit(V& v) {
    v("in_flight", in_flight,
      same_results(
          "How many requests are in flight at once, each on a connection of its own that is kept "
          "open. auto: from 4 to 256, as many as the server answers without letting them wait for "
          "one another."));
    v("part", part,
      same_results(
          "Larger reads, and objects being written, are split into parts of this size, which "
          "are in flight together."));
    v("ahead", ahead,
      same_results(
          "At most this many bytes are read before they are asked for, where it is known that "
          "they will be."));
    v("timeout", timeout, same_results("The time limit of one attempt at one request."));
    v("retries", retries,
      same_results(
          "A request is made again up to this many times where the server was busy (429, 5xx) "
          "or the connection failed. The waits in between are random and grow from 0.1 s to "
          "10 s, or are what the server asks for."),
      Limits{0, 100});
    v("ca_file", ca_file,
      same_results("A file with the certificates to trust. Without it, the system's are trusted."));
    tail.visit(v);
  }
  void check(const Section& section) const;

  // For a tier with these inputs: a retry becomes a condition of the tier.
  HttpTransport::Inputs transport(const Storage::Inputs& inputs) const;
  ObjectReads::Settings reads() const { return {part.bytes, ahead.bytes}; }
};

// Checks the URL of an option without showing it.
void check_url(const Section& section, const char* key, const std::string& url);

}  // namespace stoker
