#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/core/memory.h"

struct evp_md_ctx_st;  // of OpenSSL

namespace stoker {

// XXH3 of a text in hex, of 64 and 128 bits: names and checks against damage. Any thread.
std::string xxh3_64(std::string_view text);
std::string xxh3_128(std::string_view text);

// A published hash of bytes that may come in pieces, by OpenSSL. One thread at a time.
class Digest {
 public:
  // "MD5", "SHA256". Error(ExitCode::environment): this OpenSSL does not offer it.
  explicit Digest(const char* name);
  void update(Bytes bytes);
  // Of all bytes so far, in hex. Call it once, last.
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace stoker
