#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/result_table.h"
#include "app/tools/cold/cold.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using nlohmann::json;

std::optional<double> share(const ColdResult::Row& row) {
  if (row.bytes == 0) return std::nullopt;
  return static_cast<double>(row.cached_bytes) / static_cast<double>(row.bytes);
}

std::string size_text(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", 1e-3 * value);
  if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", 1e-6 * value);
  return fmt::format("{:.2f} GB", 1e-9 * value);
}

json row_json(const ColdResult::Row& row) {
  json out = {{"path", to_text(row.path)},
              {"files", row.files},
              {"bytes", row.bytes},
              {"cached_bytes", row.cached_bytes}};
  if (const auto cached = share(row)) out["cached_share"] = *cached;
  if (row.unknown > 0) out["unknown_files"] = row.unknown;
  for (const CachedRange& range : row.ranges) out["ranges"].push_back({range.begin, range.end});
  return out;
}

std::string ranges_text(const std::vector<CachedRange>& ranges) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(ranges.size(), kShown); ++i) {
    text += fmt::format("{}{}-{}", i == 0 ? "" : ", ", ranges[i].begin, ranges[i].end);
  }
  if (ranges.size() > kShown) text += fmt::format(" and {} more", ranges.size() - kShown);
  return text;
}

std::string table_text(const ColdResult& result, const ColdArguments& arguments) {
  ResultTable table(
      {{"", "path"}, {"", "files"}, {"", "size"}, {"", "cached"}, {"", "cached %", 1}});
  const auto add = [&](const ColdResult::Row& row) {
    const auto cached = share(row);
    table.add({printable(row.path), row.files, size_text(row.bytes), size_text(row.cached_bytes),
               cached ? ResultTable::Cell(100 * *cached) : ResultTable::Cell()});
    if (!row.ranges.empty()) table.note("  bytes " + ranges_text(row.ranges));
    if (row.unknown > 0) {
      table.note(fmt::format("  of {} nothing is known: the kernel tells only their owner",
                             plural(row.unknown, "file")));
    }
  };
  const size_t most = arguments.top == 0 ? result.rows.size() : static_cast<size_t>(arguments.top);
  for (size_t i = 0; i < std::min(most, result.rows.size()); ++i) add(result.rows[i]);
  if (result.rows.size() > most) {
    table.note(fmt::format("... and {} more (--top 0 shows all)", result.rows.size() - most));
  }
  if (result.rows.size() != 1) add(result.total);
  return table.text();
}

// At most three paths for each reason.
std::string reasons_text(const std::vector<NotCold>& not_cold) {
  std::map<std::string, std::vector<const NotCold*>> by_reason;
  for (const NotCold& one : not_cold) by_reason[one.why].push_back(&one);
  std::string text;
  for (const auto& [why, files] : by_reason) {
    uint64_t bytes = 0;
    for (const NotCold* file : files) bytes += file->bytes;
    text += fmt::format("not cold: {} of {}, {}\n", size_text(bytes), plural(files.size(), "file"),
                        printable(why));
    for (size_t i = 0; i < std::min<size_t>(files.size(), 3); ++i) {
      text += "  " + printable(files[i]->path) + "\n";
    }
  }
  return text;
}

}  // namespace

json cold_json(const ColdResult& result) {
  json out = {{"schema_version", 1},
              {"total", row_json(result.total)},
              {"entries", json::array()},
              {"file_systems", json::array()},
              {"cold", result.cold()}};
  out["total"].erase("path");
  for (const ColdResult::Row& row : result.rows) out["entries"].push_back(row_json(row));
  for (const auto& one : result.file_systems) {
    json system = {{"type", one.file_system.type},
                   {"files", one.files},
                   {"bytes", one.bytes},
                   {"known", one.file_system.kind == CacheKind::here}};
    if (!one.file_system.why.empty()) system["why"] = one.file_system.why;
    out["file_systems"].push_back(std::move(system));
  }
  for (const UnreadableFile& file : result.unreadable) {
    out["unreadable"].push_back({{"path", to_text(file.path)}, {"why", to_text(file.why)}});
  }
  for (const NotCold& one : result.not_cold) {
    out["not_cold"].push_back(
        {{"path", to_text(one.path)}, {"bytes", one.bytes}, {"why", to_text(one.why)}});
  }
  if (result.evicted) out["cached_bytes_before"] = result.cached_before;
  return out;
}

std::string cold_text(const ColdResult& result, const ColdArguments& arguments) {
  std::string text = result.total.files == 0 ? "no files\n" : table_text(result, arguments);
  for (const auto& one : result.file_systems) {
    if (one.file_system.kind == CacheKind::here) continue;
    text += fmt::format("{}: {}, {}: {}\n", one.file_system.type, plural(one.files, "file"),
                        size_text(one.bytes), one.file_system.why);
  }
  for (size_t i = 0; i < std::min<size_t>(result.unreadable.size(), 3); ++i) {
    text += fmt::format("cannot be looked at: {}: {}\n", printable(result.unreadable[i].path),
                        printable(result.unreadable[i].why));
  }
  if (result.unreadable.size() > 3) {
    text += fmt::format("... and {} more that cannot be looked at\n", result.unreadable.size() - 3);
  }
  text += reasons_text(result.not_cold);
  if (result.evicted) {
    text += fmt::format(
        "evicted {} of {}\n",
        size_text(result.cached_before - std::min(result.cached_before, result.total.cached_bytes)),
        size_text(result.cached_before));
  }
  if (arguments.certify) text += result.cold() ? "certified: all is cold\n" : "NOT cold\n";
  return text;
}

}  // namespace stoker
