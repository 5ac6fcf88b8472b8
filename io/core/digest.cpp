#include "io/core/digest.h"

// The functions that compute a hash and do nothing else. OpenSSL 3 prefers EVP_Digest and its kind;
// these look for an implementation at their first use, allocate hundreds of times in doing so, and
// where an allocation fails OpenSSL 3.0 may dereference a null pointer, at that use or at a later
// one.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <fmt/format.h>
#include <openssl/md5.h>
#include <openssl/sha.h>
#include <xxhash.h>

#include <random>
#include <variant>

namespace stoker {

std::string xxh3_64(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string xxh3_128(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string unique_name(const std::string& prefix) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", prefix, random(), random());
}

struct Digest::State {
  std::variant<MD5_CTX, SHA256_CTX> context;
};

Digest::Digest(Kind kind) : state_(std::make_unique<State>()) {
  if (kind == Kind::md5) {
    MD5_Init(&state_->context.emplace<MD5_CTX>());
  } else {
    SHA256_Init(&state_->context.emplace<SHA256_CTX>());
  }
}

Digest::~Digest() = default;

void Digest::update(Bytes bytes) {
  if (auto* const md5 = std::get_if<MD5_CTX>(&state_->context)) {
    MD5_Update(md5, bytes.data(), bytes.size());
  } else {
    SHA256_Update(&std::get<SHA256_CTX>(state_->context), bytes.data(), bytes.size());
  }
}

std::vector<uint8_t> Digest::finish_bytes() {
  if (auto* const md5 = std::get_if<MD5_CTX>(&state_->context)) {
    std::vector<uint8_t> hash(MD5_DIGEST_LENGTH);
    MD5_Final(hash.data(), md5);
    return hash;
  }
  std::vector<uint8_t> hash(SHA256_DIGEST_LENGTH);
  SHA256_Final(hash.data(), &std::get<SHA256_CTX>(state_->context));
  return hash;
}

std::string sha256_hex(std::string_view text) {
  Digest sum(Digest::Kind::sha256);
  sum.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return sum.finish();
}

std::string Digest::finish() { return fmt::format("{:02x}", fmt::join(finish_bytes(), "")); }

}  // namespace stoker
