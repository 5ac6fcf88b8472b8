#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/core/system/memory.h"

struct evp_md_ctx_st;  // of OpenSSL

namespace stoker {

// XXH3 of a text in lower-case hex, of 64 bits (16 digits) and 128 bits (32 digits): for names, and
// against damage that nobody intended. Not against forgery: use Digest for that. The same on every
// machine. Any thread; throws std::bad_alloc only.
std::string xxh3_64(std::string_view text);
std::string xxh3_128(std::string_view text);

// `prefix` and 64 random bits in hex: a name that nobody else has. Any thread.
std::string unique_name(const std::string& prefix);

// A published hash of bytes that may come in pieces, by OpenSSL. One thread at a time.
class Digest {
 public:
  // name: as OpenSSL knows it, "MD5" or "SHA256". Error(ExitCode::environment): this OpenSSL does
  // not offer it.
  explicit Digest(const char* name);
  // Adds bytes; they are not kept.
  void update(Bytes bytes);
  // The digest of all bytes so far, in lower-case hex. Call it once, last: update() means nothing
  // afterwards.
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace stoker
