#include "tests/fuzz/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "io/core/error.h"

namespace stoker::fuzz {

static std::vector<const Target*>& known_targets() {
  static std::vector<const Target*> known;
  return known;
}

Target::Target(const char* name, void (*parse)(Bytes input)) : name(name), parse(parse) {
  known_targets().push_back(this);
}

std::span<const Target* const> targets() { return known_targets(); }

void run(const Target& target, Bytes input) noexcept {
  try {
    target.parse(input);
  } catch (const BadSample&) {
  } catch (const Error& error) {
    require(error.code() != ExitCode::bug, error.what());
  }
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

std::string_view text(Bytes input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

Bytes bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::vector<std::string_view> lines(Bytes input, size_t count) {
  std::vector<std::string_view> found;
  std::string_view rest = text(input);
  while (found.size() + 1 < count) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    found.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  found.push_back(rest);
  return found;
}

}  // namespace stoker::fuzz
