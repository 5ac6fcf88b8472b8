#include "app/tools/run_program/program_io.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "io/core/text/text.h"
#include "io/profiler/profile_summary.h"
#include "io/profiler/records/mount_table.h"

namespace stoker {
namespace {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

void add_sizes(SizeCounts& sum, const SizeCounts& sizes) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += sizes[i];
}

void add_all(IoProfile::Dropped& sum, const IoProfile::Dropped& of) {
  sum.files += of.files;
  sum.segments += of.segments;
  sum.posix |= of.posix;
  sum.stdio |= of.stdio;
  sum.segments_partial |= of.segments_partial;
}

void add_file(const FileRow& row, int64_t cold_bytes, ProgramIo::File& file) {
  file.path = row.file->path;
  file.opens += row.opens;
  file.reads += row.reads;
  file.writes += row.writes;
  file.bytes_read += row.bytes_read;
  file.bytes_written += row.bytes_written;
  file.read_s += row.read_s;
  file.write_s += row.write_s;
  file.meta_s += row.meta_s;
  file.cold_bytes += cold_bytes;
}

void add_notes(const IoProfile::Dropped& dropped, ProgramIo& program) {
  if (dropped.files > 0) {
    program.notes.push_back(
        fmt::format("{} opens are of files that had no room in the log", dropped.files));
  }
  if (dropped.segments > 0) {
    program.notes.push_back(
        fmt::format("the counters are whole, but {} single reads and writes had no room in the log",
                    dropped.segments));
  }
}

}  // namespace

IoProfile profile_of(std::vector<PreloadedProcess>& processes, const ProgramIo& program,
                     const std::string& command) {
  IoProfile profile;
  profile.begin_ns = program.begin_ns;
  profile.end_ns = program.begin_ns + static_cast<int64_t>(1e9 * program.seconds);
  profile.begin_monotonic_ns = program.begin_monotonic_ns;
  profile.uid = ::getuid();
  profile.job_id = program.pid;
  profile.host = host_name();
  profile.command = command;
  profile.mounts = MountTable().list();
  RequestSizes sizes;
  for (PreloadedProcess& process : processes) {
    profile.ranks = std::max(profile.ranks, process.number + 1);
    if (profile.files.empty()) {
      profile.files.swap(process.io.files);
    } else {
      std::ranges::move(process.io.files, std::back_inserter(profile.files));
      process.io.files.clear();
    }
    add_all(profile.dropped, process.io.dropped);
    if (const auto& of = process.io.stream_sizes) {
      add_sizes(sizes.reads, of->reads);
      add_sizes(sizes.writes, of->writes);
    }
  }
  profile.stream_sizes = sizes;
  return profile;
}

void add_processes(const std::vector<PreloadedProcess>& processes, ProgramIo& program) {
  std::map<std::string_view, ProgramIo::File> files;
  IoProfile::Dropped dropped;
  for (const PreloadedProcess& process : processes) {
    ++program.processes;
    program.copied_s += process.copied_s;
    add_all(dropped, process.io.dropped);
    for (const FileRow& row : file_rows(process.io)) {
      const bool moved = row.reads > 0 || row.writes > 0;
      if (row.file->path.starts_with('<') && !moved) continue;  // a standard stream
      const auto cold = process.cold_bytes.find(row.file->id);
      const int64_t cold_bytes = cold == process.cold_bytes.end() ? 0 : cold->second;
      add_file(row, cold_bytes, files[row.file->path]);
    }
  }
  for (auto& [path, file] : files) program.files.push_back(std::move(file));
  std::ranges::stable_sort(program.files, std::greater(), &ProgramIo::File::call_s);
  add_notes(dropped, program);
}

template <>
Registry<ProgramTiers>& Registry<ProgramTiers>::global() {
  static Registry registry;
  return registry;
}

std::unique_ptr<ProgramTiers> program_tiers(const ProgramTiers::Inputs& inputs) {
  if (inputs.tiers.empty()) return nullptr;
  return default_component<ProgramTiers>("mounted").create(inputs);
}

std::string tiers_text(const std::vector<ProgramIo::Tier>& tiers) {
  std::string text;
  for (const ProgramIo::Tier& tier : tiers) {
    text += fmt::format(
        "{} as {} (EMULATED, page cache: {}): {} opens, {} reads, {:.1f} MB, {:.2f} s of waiting, "
        "of which the device {:.2f} s\n",
        printable(tier.folder), tier.tier, tier.mode, tier.opens, tier.reads,
        1e-6 * static_cast<double>(tier.bytes_read), tier.waited_s, tier.modelled_s);
    if (tier.failed > 0) text += fmt::format("  {} of them failed\n", tier.failed);
    if (tier.overruns > 0) {
      text += fmt::format("  {} operations took longer than the model says\n", tier.overruns);
    }
  }
  return text;
}

nlohmann::json tiers_json(const std::vector<ProgramIo::Tier>& tiers) {
  nlohmann::json all = nlohmann::json::array();
  for (const ProgramIo::Tier& tier : tiers) {
    all.push_back({{"folder", to_text(tier.folder)},
                   {"tier", tier.tier},
                   {"emulated", true},
                   {"page_cache", tier.mode},
                   {"files", tier.files},
                   {"bytes", tier.bytes},
                   {"opens", tier.opens},
                   {"reads", tier.reads},
                   {"failed", tier.failed},
                   {"bytes_read", tier.bytes_read},
                   {"waited_s", tier.waited_s},
                   {"modelled_s", tier.modelled_s},
                   {"overruns", tier.overruns}});
  }
  return all;
}

}  // namespace stoker
