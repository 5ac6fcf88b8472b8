#include <bzlib.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "app/tools/darshan/darshan.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/view/file_lanes.h"
#include "io/profiler/view/profile_json.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

Bytes log_bytes(const std::string& log) {
  return {reinterpret_cast<const uint8_t*>(log.data()), log.size()};
}

std::string zipped(std::string_view plain) {
  std::string packed(::compressBound(plain.size()), '\0');
  uLongf size = packed.size();
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(plain.data()), plain.size());
  packed.resize(size);
  return packed;
}

std::string bzipped(std::string plain) {
  std::string packed(plain.size() + plain.size() / 100 + 600, '\0');  // bzip2's manual
  auto size = static_cast<unsigned>(packed.size());
  ::BZ2_bzBuffToBuffCompress(packed.data(), &size, plain.data(),
                             static_cast<unsigned>(plain.size()), 1, 0, 0);
  packed.resize(size);
  return packed;
}

// What a compressed log would hide from the fuzzer, and its header of 1.3 kB: the input is "~", a
// letter for format, byte order and compression, the versions of POSIX, STDIO and DXT_POSIX (or,
// where the letter says so, HEATMAP), a length of two bytes for each of job, names and these three,
// and behind them their bytes.
std::string composed(std::string_view input) {
  constexpr size_t kHead = 5, kParts = 5;
  const auto form = static_cast<uint8_t>(input[1]);
  const bool newest = form & 1, swapped = form & 2, packed = form & 4, bzip2 = form & 32;
  const auto number = [&](auto value) {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    if (swapped) std::ranges::reverse(bytes);
    return bytes;
  };
  const size_t count = newest ? 64 : 16;
  const size_t header = (newest ? 32 : 24) + 16 * (1 + count) + 4 * count;
  std::array<std::string, 65> places;
  places.fill(number(uint64_t{0}) + number(uint64_t{0}));
  const bool heat = newest && (form & 128);
  const std::array<size_t, kParts> at = {65, 0, 2, newest ? 10U : 9U,
                                         heat     ? 16U
                                         : newest ? 11U
                                                  : 10U};
  std::string parts;
  std::string_view rest = input.substr(std::min(input.size(), kHead + 2 * kParts));
  for (size_t part = 0; part < kParts; ++part) {
    uint16_t size = 0;
    if (input.size() >= kHead + 2 * kParts) std::memcpy(&size, &input[kHead + 2 * part], 2);
    std::string plain(rest.substr(0, size));
    rest.remove_prefix(plain.size());
    if (part == 0) plain.resize(8 * (newest ? 7 : 5) + 1024 + plain.size() / 2);
    const std::string bytes = !packed ? plain : bzip2 ? bzipped(plain) : zipped(plain);
    if (at[part] < places.size() && !plain.empty()) {
      places[at[part]] = number(uint64_t{header + parts.size()}) + number(uint64_t{bytes.size()});
    }
    parts += bytes;
  }
  std::string log(newest ? "3.41" : form & 16 ? "3.00" : "3.21");
  log.resize(8);
  log += number(int64_t{6567223});
  log += !packed ? '\2' : bzip2 ? '\1' : '\0';
  log.resize(newest ? 32 : 24, form & 8 ? '\xff' : '\0');
  for (size_t i = 0; i <= count; ++i) log += places[i];
  for (size_t i = 0; i < count; ++i) {
    uint32_t version = 0;
    for (size_t module = 2; module < kParts; ++module) {
      if (at[module] == i + 1) version = static_cast<uint8_t>(input[module]) % 8;
    }
    log += number(version);
  }
  return log + parts;
}

std::string written_again(const std::string& log) {
  return darshan_log(parse_darshan_log(log_bytes(log), "log").profile);
}

}  // namespace
}  // namespace stoker

STOKER_FUZZ_TARGET(darshan_log) {
  using namespace stoker;
  const std::string_view text = fuzz::text(input);
  const bool parts = text.size() >= 5 && text.front() == '~';
  const std::string log = parts ? composed(text) : std::string(text);
  const DarshanLog read = parse_darshan_log(log_bytes(log), "log", 64 << 20);
  const std::string written = darshan_log(read.profile);
  const DarshanLog again = parse_darshan_log(log_bytes(written), "written");
  const auto filled = [](const DarshanLog& log) {
    return std::ranges::count_if(log.profile.files, [](const FileIo& file) {
      return file.posix || file.stdio || !file.reads.empty() || !file.writes.empty();
    });
  };
  fuzz::require(filled(again) == filled(read), "files are lost");
  // Names become text once.
  const std::string second = darshan_log(again.profile);
  fuzz::require(written_again(second) == second, "a log changes when it is written again");
  fuzz::require(!darshan_text(read, {}).empty(), "a log without a text");
  profile_json(read.profile);
  file_lanes(read.profile);
}
