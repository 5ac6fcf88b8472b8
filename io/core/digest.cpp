#include "io/core/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <array>
#include <random>

#include "io/core/error.h"

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

Digest::Digest(const char* name) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  const EVP_MD* kind = EVP_get_digestbyname(name);
  if (kind == nullptr || EVP_DigestInit_ex(context_.get(), kind, nullptr) != 1) {
    throw Error(ExitCode::environment, fmt::format("OpenSSL offers no {}", name));
  }
}

void Digest::update(Bytes bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string Digest::finish() {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, ""));
}

std::string sha256_hex(std::string_view text) {
  Digest sum("SHA256");
  sum.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return sum.finish();
}

}  // namespace stoker
