#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker::fuzz {

// A parser of untrusted input under test. Defined by STOKER_FUZZ_TARGET, and there for the whole
// process.
struct Target {
  Target(const char* name, void (*parse)(Bytes input));
  const char* name;
  void (*parse)(Bytes input);
};

// All that are linked into this program: one where clang's libFuzzer drives it, else all.
std::span<const Target* const> targets();

// Calls the target's parser. BadSample may escape, and an Error that is no bug (ExitCode); all else
// ends the process.
void run(const Target& target, Bytes input) noexcept;

// Ends the process with the text where it does not hold.
void require(bool holds, const char* what);

std::string_view text(Bytes input);
// The other way round.
Bytes bytes(std::string_view text);

// The lines of an input of several texts, without their ends; the last one is all that is left.
// Missing ones are empty.
std::vector<std::string_view> lines(Bytes input, size_t count);

}  // namespace stoker::fuzz

// STOKER_FUZZ_TARGET(yaml) { ... input ... }: NAME is the target's and that of its corpus.
#define STOKER_FUZZ_TARGET(NAME)                                       \
  static void fuzz_##NAME(stoker::Bytes input);                        \
  static const stoker::fuzz::Target NAME##_target(#NAME, fuzz_##NAME); \
  static void fuzz_##NAME(stoker::Bytes input)
