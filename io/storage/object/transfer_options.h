#pragma once

#include <optional>
#include <string>

#include "io/core/config/config.h"
#include "io/http/transport.h"
#include "io/storage/object/object_reads.h"
#include "io/storage/storage.h"

namespace stoker {

// What the tiers over HTTP have in common. A value.
struct TransferOptions {
  int64_t connections = 16;
  ByteSize part{uint64_t{8} << 20};
  ByteSize ahead{uint64_t{64} << 20};
  Duration timeout{60'000};
  int64_t retries = 6;
  std::optional<Path> ca_file;
  template <class V>
  void visit(V& v) {
    v("connections", connections,
      same_results("requests in flight, each on a connection of its own that is kept open"),
      Limits{1, 1024});
    v("part", part,
      same_results(
          "larger reads and objects being written are split into parts of this size, which "
          "are in flight together"));
    v("ahead", ahead,
      same_results(
          "most bytes that are read before they are asked for, where it is known that they "
          "will be"));
    v("timeout", timeout, same_results("of one attempt at one request"));
    v("retries", retries,
      same_results(
          "of a request that was answered 429 or 5xx, took too long, or whose connection was "
          "cut; the waits between grow from 0.1 s to 10 s, at random, or are what the "
          "server says"),
      Limits{0, 100});
    v("ca_file", ca_file,
      same_results("certificates to trust, in one file; default: the system's"));
  }
  void check(const Section& section) const;

  // For a tier with these inputs: a retry becomes a condition of the tier.
  HttpTransport::Inputs transport(const Storage::Inputs& inputs) const;
  ObjectReads::Settings reads() const { return {part.bytes, ahead.bytes}; }
};

// The URL of an option, checked without showing it.
void check_url(const Section& section, const char* key, const std::string& url);

}  // namespace stoker
