#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/log/log_records.h"
#include "io/profiler/log/log_region.h"
#include "io/profiler/profile.h"

namespace stoker {
namespace {

using Place = DarshanFormat::Place;

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ExitCode::data, name + ": " + why);
}

template <class T>
T number_at(Bytes bytes, size_t at, bool swapped) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  if (!swapped) return value;
  if constexpr (sizeof value == 8) return static_cast<T>(__builtin_bswap64(value));
  if constexpr (sizeof value == 4) return static_cast<T>(__builtin_bswap32(value));
}

// The header, with the modules under their newest numbers.
struct LogHeader {
  std::string version;
  int minor = 0;  // of the version: 3.00 to 3.41
  bool swapped = false;
  DarshanFormat::Compression compression = DarshanFormat::kZlib;
  Place job, names;
  struct Part {
    size_t module;
    Place place;
    uint32_t version;
    bool partial;
  };
  std::vector<Part> modules;  // that are there
};

size_t newest_number(size_t module, int minor) {
  constexpr size_t kH5d = 4, kPnetcdfVar = 6;  // new in 3.20 and in 3.41
  if (minor < 20 && module >= kH5d) ++module;
  if (minor < 41 && module >= kPnetcdfVar) ++module;
  return module;
}

std::string module_name(size_t module) {
  constexpr auto& kNames = DarshanFormat::kModuleNames;
  return module < kNames.size() ? kNames[module] : fmt::format("module {}", module);
}

// Version, byte order and compression.
LogHeader read_begin(Bytes bytes, const std::string& name) {
  constexpr size_t kBegin = 24;
  constexpr auto kMagic = static_cast<uint64_t>(DarshanFormat::kMagic);
  LogHeader header;
  uint64_t magic = 0;
  if (bytes.size() >= kBegin) magic = number_at<uint64_t>(bytes, 8, false);
  header.swapped = magic == __builtin_bswap64(kMagic);
  if (magic != kMagic && !header.swapped) {
    refuse(name, "is no log of Darshan 3; logs of an older Darshan are for that Darshan's tools");
  }
  const std::string_view version(reinterpret_cast<const char*>(bytes.data()), 8);
  header.version = version.substr(0, version.find('\0'));
  constexpr std::array kFormats = {std::pair("3.00", 0), std::pair("3.10", 10),
                                   std::pair("3.20", 20), std::pair("3.21", 21),
                                   std::pair("3.41", 41)};
  const auto format = std::ranges::find(kFormats, header.version, [](auto& f) { return f.first; });
  if (format == kFormats.end()) {
    refuse(name, fmt::format("its format is '{}'; known are 3.00, 3.10, 3.20, 3.21 and 3.41: is "
                             "there a newer Stoker?",
                             header.version));
  }
  header.minor = format->second;
  const uint8_t compression = bytes[16];
  if (compression > DarshanFormat::kNone) {
    refuse(name, fmt::format("its compression is number {}; known are 0 (zlib), 1 (bzip2) and 2 "
                             "(none): is it damaged?",
                             compression));
  }
  header.compression = static_cast<DarshanFormat::Compression>(compression);
  return header;
}

// Where everything lies.
LogHeader read_header(Bytes bytes, const std::string& name) {
  LogHeader header = read_begin(bytes, name);
  const bool newest = header.minor >= 41;
  const size_t count = newest ? DarshanFormat::kModules : 16;
  const size_t places = newest ? 32 : 24;
  const size_t versions = places + sizeof(Place) * (1 + count);
  const size_t end = versions + sizeof(uint32_t) * count;
  if (bytes.size() < end) refuse(name, "is cut off: its header is not whole");
  const uint64_t partial = newest ? number_at<uint64_t>(bytes, 24, header.swapped)
                                  : number_at<uint32_t>(bytes, 20, header.swapped);
  uint64_t job_end = bytes.size();
  const auto place_at = [&](size_t number) {
    const size_t at = places + number * sizeof(Place);
    const Place place{number_at<uint64_t>(bytes, at, header.swapped),
                      number_at<uint64_t>(bytes, at + 8, header.swapped)};
    if (place.bytes == 0) return place;
    if (place.offset < end || place.offset > bytes.size() ||
        place.bytes > bytes.size() - place.offset) {
      refuse(name, "is damaged, or cut off: a part of it lies outside of the file");
    }
    job_end = std::min(job_end, place.offset);
    return place;
  };
  header.names = place_at(0);
  for (size_t at = 0; at < count; ++at) {
    const Place place = place_at(at + 1);
    if (place.bytes == 0) continue;
    header.modules.push_back({newest_number(at, header.minor), place,
                              number_at<uint32_t>(bytes, versions + 4 * at, header.swapped),
                              (partial >> at & 1) != 0});
  }
  header.job = {end, job_end - end};
  return header;
}

int64_t nanoseconds_of(LogRegion& region, uint64_t seconds, uint64_t nanoseconds) {
  constexpr uint64_t kSecond = 1'000'000'000;
  if (seconds > INT64_MAX / kSecond - 1 || nanoseconds >= kSecond) {
    region.fail("its times are none: is it damaged?");
  }
  return static_cast<int64_t>(seconds * kSecond + nanoseconds);
}

// Lines "key=value".
std::map<std::string, std::string> metadata_in(std::string_view text) {
  std::map<std::string, std::string> metadata;
  text = text.substr(0, text.find('\0'));
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (equals == line.npos) continue;
    metadata.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return metadata;
}

// The command, and behind it a line for each mount.
void read_command(std::string_view text, IoProfile& profile) {
  text = text.substr(0, text.find('\0'));
  const size_t command = std::min(text.size(), text.find('\n'));
  profile.command = text.substr(0, command);
  text.remove_prefix(command);
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size());
    const size_t tab = line.find('\t');
    if (tab == line.npos) continue;
    profile.mounts.push_back({std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))});
  }
}

void read_job(LogRegion& region, const LogHeader& header, DarshanLog& log) {
  IoProfile& profile = log.profile;
  const bool newest = header.minor >= 41;  // from there on with nanoseconds
  std::array<uint64_t, 7> words{};
  if (!region.read(std::span(words).first(newest ? 7 : 5))) region.fail("it is empty");
  if (!newest) words = {words[0], words[1], 0, words[2], 0, words[3], words[4]};
  profile.uid = static_cast<int64_t>(words[0]);
  profile.begin_ns = nanoseconds_of(region, words[1], words[2]);
  profile.end_ns = nanoseconds_of(region, words[3], words[4]);
  profile.ranks = static_cast<int64_t>(words[5]);
  profile.job_id = static_cast<int64_t>(words[6]);
  const std::string text = region.read_rest(DarshanFormat::kJobBytes);
  log.metadata = metadata_in(std::string_view(text).substr(0, DarshanFormat::kMetadataBytes));
  if (text.size() > DarshanFormat::kMetadataBytes) {
    read_command(std::string_view(text).substr(DarshanFormat::kMetadataBytes), profile);
  }
}

// Whole numbers between spaces; all are 0 where one is missing, or below 0.
template <size_t N>
std::array<int64_t, N> numbers_in(const std::string& text) {
  std::array<int64_t, N> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int64_t& number : numbers) {
    at = std::find_if(at, end, [](char c) { return c != ' '; });
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0) return {};
    at = next;
  }
  return numbers;
}

// What our own logs say beside Darshan's records.
void read_own_metadata(DarshanLog& log) {
  const auto text = [&](const char* key) {
    const auto at = log.metadata.find(key);
    return at == log.metadata.end() ? std::string() : at->second;
  };
  IoProfile& profile = log.profile;
  profile.host = text("stoker_host");
  if (const std::string sizes = text("stoker_stream_sizes"); !sizes.empty()) {
    constexpr size_t kBuckets = std::tuple_size_v<SizeCounts>;
    const auto counts = numbers_in<2 * kBuckets>(sizes);
    RequestSizes& of = profile.stream_sizes.emplace();
    std::copy_n(counts.begin(), kBuckets, of.reads.begin());
    std::copy_n(counts.begin() + kBuckets, kBuckets, of.writes.begin());
  }
  std::istringstream under_way(text("stoker_under_way"));
  if (IoProfile::UnderWay of; under_way >> of.reading_s >> of.writing_s) {
    profile.under_way = {finite(of.reading_s), finite(of.writing_s)};
  }
  std::istringstream emulated(text("stoker_emulated"));
  for (std::string each; std::getline(emulated, each, ';');) {
    IoProfile::Emulated of;
    std::istringstream words(each);
    if (!(words >> of.read_s >> of.write_s >> of.meta_s >> of.tier)) continue;
    // Older ones end here.
    words >> of.bytes_read >> of.bytes_written >> of.reading_s >> of.writing_s;
    profile.emulated.push_back(of);
  }
  if (const std::string steps = text("stoker_steps"); !steps.empty()) {
    const auto [first, last] = numbers_in<2>(steps);
    if (first <= last) profile.steps = IoProfile::Steps{first, last};
  }
  profile.dropped.files = numbers_in<1>(text("stoker_dropped_files"))[0];
  profile.dropped.segments = numbers_in<1>(text("stoker_dropped_segments"))[0];
  if (const std::string kernel = text("stoker_kernel_bytes"); !kernel.empty()) {
    const auto [read, written, elsewhere_read, elsewhere_written] = numbers_in<4>(kernel);
    profile.kernel = IoProfile::Kernel{read, written, elsewhere_read, elsewhere_written};
  }
}

void read_module(const LogHeader::Part& part, LogRegion& region, LogRecords& records,
                 DarshanLog& log) {
  DarshanLog::Module module{module_name(part.module), part.version, part.partial, true};
  const auto use = [&](bool known, void (LogRecords::*add)(LogRegion&, uint32_t), bool& partial) {
    if (!known) {
      region.fail(fmt::format("version {} of this module is not known: is there a newer Stoker?",
                              part.version));
    }
    (records.*add)(region, part.version);
    partial = part.partial;
  };
  IoProfile::Dropped& dropped = log.profile.dropped;
  if (part.module == DarshanFormat::kPosix) {
    use(LogRecords::reads_posix(part.version), &LogRecords::add_posix, dropped.posix);
  } else if (part.module == DarshanFormat::kStdio) {
    use(LogRecords::reads_stdio(part.version), &LogRecords::add_stdio, dropped.stdio);
  } else if (part.module == DarshanFormat::kDxtPosix) {
    use(LogRecords::reads_segments(part.version), &LogRecords::add_segments,
        dropped.segments_partial);
  } else if (part.module == DarshanFormat::kHeatMap) {
    bool partial = false;  // its segments are, which DXT_POSIX says
    use(LogRecords::reads_heat_maps(part.version), &LogRecords::add_heat_maps, partial);
    dropped.segments_partial |= partial;
  } else {
    module.read = false;
  }
  log.modules.push_back(std::move(module));
}

}  // namespace

DarshanLog parse_darshan_log(Bytes bytes, const std::string& name, uint64_t most_memory) {
  const LogHeader header = read_header(bytes, name);
  const auto region_at = [&](const Place& place, const std::string& what) {
    return LogRegion::Source{bytes.subspan(place.offset, place.bytes), header.compression,
                             header.swapped, name + ": " + what};
  };
  DarshanLog log;
  log.version = header.version;
  LogRegion job(region_at(header.job, "job"));
  read_job(job, header, log);
  read_own_metadata(log);
  LogRecords records(log.profile, most_memory);
  if (header.names.bytes > 0) {
    LogRegion names(region_at(header.names, "names"));
    records.add_names(names, header.minor == 0);
  }
  for (const LogHeader::Part& part : header.modules) {
    LogRegion region(region_at(part.place, module_name(part.module)));
    read_module(part, region, records, log);
  }
  return log;
}

DarshanLog read_darshan_log(const std::string& path, uint64_t most_memory, Readable readable) {
  const std::optional<std::string> file = read_if_there(path, SIZE_MAX, readable);
  if (!file) throw Error(ExitCode::environment, path + ": there is no such file");
  return parse_darshan_log({reinterpret_cast<const uint8_t*>(file->data()), file->size()}, path,
                           most_memory);
}

}  // namespace stoker
