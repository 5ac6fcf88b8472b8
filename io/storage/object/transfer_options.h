#pragma once

#include <optional>
#include <string>

#include "io/core/config/config.h"
#include "io/http/transport.h"
#include "io/storage/object/object_reads.h"
#include "io/storage/storage.h"
#include "io/storage/tail/tail_options.h"

namespace stoker {

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
