#include "io/storage/object/object_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <stop_token>
#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/object/object_errors.h"

namespace stoker {
namespace {

// Beyond it servers disagree on what a range is.
constexpr uint64_t kLargest = INT64_MAX / 2;

uint64_t cut(const Range& range, uint64_t bytes) {
  return range.offset >= bytes ? 0 : std::min(range.length, bytes - range.offset);
}

uint8_t* room_for(Buffer& out, uint64_t bytes, const std::string& shown) {
  try {
    if (bytes <= kLargest) return out.resize(bytes);
  } catch (const std::bad_alloc&) {
  }
  throw IoError(fmt::format("{}: there is no memory for {} bytes; read it in ranges", shown, bytes),
                ENOMEM);
}

std::string range_header(uint64_t offset, uint64_t length) {
  return fmt::format("Range: bytes={}-{}", offset, offset + length - 1);
}

// A weak one promises equal meaning, not equal bytes, and matches nothing.
bool is_strong(const std::string& etag) { return etag.starts_with('"'); }

// Waits for all of them, for they write into the reader's memory; then throws the first error.
void wait_for(const std::string& shown, std::vector<std::future<HttpAnswer>>& answers,
              const ObjectVersion& version, const ObjectPlace& place) {
  std::exception_ptr error;
  for (std::future<HttpAnswer>& answer : answers) {
    try {
      check_answer(shown, HttpTransport::get(std::move(answer)), version, place);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  answers.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace

// What is read before anybody asks for it.
struct ObjectReads::Ahead {
  ObjectVersion version;
  Buffer buffer;
  Answers answers;
  std::stop_source stop;
};

ObjectReads::ObjectReads(HttpTransport& transport, ObjectPlace place, Settings settings)
    : transport_(transport),
      place_(std::move(place)),
      settings_(settings),
      expected_(settings.ahead, [this](const ExpectedRead& what) { return begin_ahead(what); }) {}

void ObjectReads::read(const std::string& key, Buffer& out, Range range) {
  check_key(key);
  if (const auto ahead = expected_.take(key, range)) {
    // It is this thread's from now on.
    const std::stop_callback with_us(interruption(), [&] { (*ahead)->stop.request_stop(); });
    try {
      wait_for(place_.shown("read", key), (*ahead)->answers, (*ahead)->version, place_);
      std::swap(out, (*ahead)->buffer);
      return;
    } catch (const IoError&) {
      // Asked for once more: what is wrong is said then.
    }
  }
  for (;;) {
    const uint64_t changes = known_.changes();
    try {
      return read_once(key, out, range);
    } catch (const IoError& error) {
      const bool by_us = known_.changing(key) || known_.changes() != changes;
      if (error.errno_value() != ESTALE || !by_us) throw;
    }
  }
}

void ObjectReads::read_once(const std::string& key, Buffer& out, Range range) {
  std::optional<ObjectVersion> version = known_.find(key);
  if (!version && (range.length == 0 || range.offset > kLargest)) version = this->version(key);
  if (version) {
    const uint64_t want = cut(range, version->bytes);
    uint8_t* const data = room_for(out, want, place_.shown("read", key));
    return read_parts(key, *version, range.offset, {data, want});
  }
  const uint64_t changes = known_.changes();
  uint64_t done = 0;
  const ObjectVersion first = read_first(key, out, range, done);
  known_.add(changes, key, first);
  read_parts(key, first, range.offset + done, {out.data() + done, out.size() - done});
}

// Reads the first part of an object that nothing is known of; its answer says the rest. Makes room
// for all parts; `done` is how much it read.
ObjectVersion ObjectReads::read_first(const std::string& key, Buffer& out, Range range,
                                      uint64_t& done) {
  const std::string shown = place_.shown("read", key);
  const uint64_t most = std::min({settings_.part, range.length, kLargest});
  ObjectVersion version;
  HttpRequest request{
      .url = place_.url_of(key), .shown = shown, .headers = {range_header(range.offset, most)}};
  request.place = [&](const HttpHead& head) -> std::span<uint8_t> {
    const uint64_t total = size_said(shown, head, place_, true);
    version = {total, head.etag};
    const uint64_t want = cut(range, total);
    const uint64_t here = head.status == 200 ? want : std::min(want, most);
    check_part(shown, head, version, range.offset, here, place_);
    done = here;
    return {room_for(out, want, shown), here};
  };
  const HttpAnswer answer = transport_.perform(std::move(request));
  if (answer.head.status != 416) {
    check_answer(shown, answer, version, place_);
    return version;
  }
  out.resize(0);
  if (answer.head.range) version.bytes = answer.head.range->total;
  if (answer.head.range && version.bytes > range.offset) {
    throw IoError(shown + ": the server refuses a range that it has; it must know range requests",
                  EIO);
  }
  return answer.head.range ? version : this->version(key);
}

HttpRequest ObjectReads::part_request(const std::string& key, const ObjectVersion& version,
                                      uint64_t offset, std::span<uint8_t> out) const {
  const std::string shown = place_.shown("read", key);
  HttpRequest request{.url = place_.url_of(key), .shown = shown};
  if (out.size() < version.bytes) request.headers.push_back(range_header(offset, out.size()));
  if (is_strong(version.etag)) request.headers.push_back("If-Match: " + version.etag);
  request.place = [this, shown, version, offset, out](const HttpHead& head) {
    check_part(shown, head, version, offset, out.size(), place_);
    return out;
  };
  return request;
}

void ObjectReads::start_parts(const std::string& key, const ObjectVersion& version, uint64_t begin,
                              std::span<uint8_t> out, Answers& answers) const {
  answers.reserve(out.size() / settings_.part + 1);
  for (uint64_t done = 0; done < out.size(); done += settings_.part) {
    const uint64_t length = std::min<uint64_t>(settings_.part, out.size() - done);
    answers.push_back(
        transport_.start(part_request(key, version, begin + done, out.subspan(done, length))));
  }
}

void ObjectReads::read_parts(const std::string& key, const ObjectVersion& version, uint64_t begin,
                             std::span<uint8_t> out) {
  const std::string shown = place_.shown("read", key);
  Answers answers;
  try {
    start_parts(key, version, begin, out, answers);
  } catch (...) {
    for (const auto& answer : answers) answer.wait();
    throw;
  }
  wait_for(shown, answers, version, place_);
}

void ObjectReads::expect(std::span<const ObjectRange> reads) {
  for (const ObjectRange& what : reads) {
    const std::optional<ObjectVersion> version = known_.find(std::string(what.key));
    const uint64_t bytes = version ? cut(what.range, version->bytes) : 0;
    if (bytes > 0) expected_.add(what, bytes);
  }
}

std::shared_ptr<ObjectReads::Ahead> ObjectReads::begin_ahead(const ExpectedRead& what) const {
  const std::optional<ObjectVersion> version = known_.find(what.key);
  if (!version) throw IoError("read " + what.key + ": it has changed", ESTALE);
  auto ahead = std::make_shared<Ahead>();
  ahead->version = *version;
  const uint64_t want = cut(what.range, version->bytes);
  const std::span<uint8_t> out{ahead->buffer.resize(want), want};
  for (uint64_t done = 0; done < want; done += settings_.part) {
    const uint64_t length = std::min<uint64_t>(settings_.part, want - done);
    HttpRequest request =
        part_request(what.key, *version, what.range.offset + done, out.subspan(done, length));
    request.ahead = true;
    request.keep = ahead;
    request.stop = ahead->stop.get_token();
    ahead->answers.push_back(transport_.start(std::move(request)));
  }
  return ahead;
}

std::future<HttpAnswer> ObjectReads::ask_version(const std::string& key) {
  return transport_.start(
      {.method = "HEAD", .url = place_.url_of(key), .shown = place_.shown("read", key)});
}

ObjectVersion ObjectReads::version_of(const std::string& key, const HttpAnswer& answer) const {
  const std::string shown = place_.shown("read", key);
  const long status = answer.head.status;
  if (status == 405 || status == 501) {
    throw IoError(shown + ": the server does not say how long it is (HEAD is answered by " +
                      std::to_string(status) + "): name its size in an index",
                  EIO);
  }
  if (status != 200) throw_answer(shown, answer, place_);
  return {size_said(shown, answer.head, place_, false), answer.head.etag};
}

ObjectVersion ObjectReads::version(const std::string& key) {
  const uint64_t changes = known_.changes();
  ObjectVersion version = version_of(key, HttpTransport::get(ask_version(key)));
  known_.add(changes, key, version);
  return version;
}

ObjectReads::Change::Change(ObjectReads& reads, const std::string& key) : reads_(reads), key_(key) {
  reads_.known_.begin_change(key_);
  reads_.expected_.forget(key_);
}

ObjectReads::Change::~Change() {
  reads_.known_.end_change(key_);
  reads_.expected_.forget(key_);
}

void TransferOptions::check(const Section& section) const {
  constexpr uint64_t kLeast = 64 << 10;
  constexpr uint64_t kMost = uint64_t{1} << 30;
  if (part.bytes < kLeast || part.bytes > kMost) {
    section.fail("part", "must be from 64KiB to 1GiB");
  }
  if (timeout.ms < 1 || timeout.ms > 3'600'000)
    section.fail("timeout", "must be from 1ms to 60min");
}

HttpTransport::Inputs TransferOptions::transport(const Storage::Inputs& inputs) const {
  HttpTransport::Inputs transport;
  transport.in_flight = in_flight.count;
  transport.limits.timeout_ms = timeout.ms;
  transport.limits.slow_ms = timeout.ms / 2;
  if (ca_file) transport.limits.ca_file = ca_file->value;
  transport.retry.retries = retries;
  transport.more_attempts = "; more by the tier's `retries`";
  if (inputs.meter != nullptr) {
    transport.retried = [meter = inputs.meter](const std::string& first) {
      meter->add_condition("requests had to be made again; the first: " + first);
    };
    transport.most_in_flight = [meter = inputs.meter](int64_t most) {
      meter->set_most_in_flight(most);
    };
  }
  return transport;
}

void check_url(const Section& section, const char* key, const std::string& url) {
  const std::string wrong = wrong_with_url(url);
  if (!wrong.empty()) section.fail(key, wrong);
}

}  // namespace stoker
