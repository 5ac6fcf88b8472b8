#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// XXH3 of a text in lower-case hex, of 64 bits (16 digits) and 128 bits (32 digits): for names, and
// against damage that nobody intended. Not against forgery: use Digest for that. The same on every
// machine. Any thread; throws std::bad_alloc only.
std::string xxh3_64(std::string_view text);
std::string xxh3_128(std::string_view text);

// `prefix` and 64 random bits in hex: a name that nobody else has. Any thread.
std::string unique_name(const std::string& prefix);

// A published hash of bytes that may come in pieces. It needs no memory and no set-up of OpenSSL,
// so it works in a process that is short of memory. One thread at a time; throws std::bad_alloc
// only.
class Digest {
 public:
  enum class Kind { md5, sha256 };
  explicit Digest(Kind kind);
  ~Digest();

  // Adds bytes; they are not kept.
  void update(Bytes bytes);
  // The hash of all bytes so far, as it is published: bytes, or lower-case hex. Call one of them,
  // once and last: update() means nothing afterwards.
  std::vector<uint8_t> finish_bytes();
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// SHA-256 of a text in lower-case hex (64 digits). Any thread.
std::string sha256_hex(std::string_view text);

}  // namespace stoker
