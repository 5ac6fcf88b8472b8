#include "app/tools/cold/cold.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void add_to(ColdResult::Row& row, const SurveyedFile& file) {
  ++row.files;
  row.bytes += file.bytes;
  row.cached_bytes += file.cached_bytes.value_or(0);
  if (!file.cached_bytes) ++row.unknown;
}

std::string why_not_cold(const SurveyedFile& file, bool evicted,
                         const std::map<FileNumber, std::string>& mapped) {
  if (file.file_system->kind != CacheKind::here) {
    return file.file_system->type + ": " + file.file_system->why;
  }
  if (!file.cached_bytes) return "the kernel tells only its owner or who may write it";
  const auto user = mapped.find(file.number);
  if (user != mapped.end()) return "mapped by " + user->second;
  return evicted ? "in use: read, written, locked or mapped by a process that cannot be seen"
                 : "in the page cache";
}

std::vector<NotCold> find_not_cold(const std::vector<SurveyedFile>& files, bool evicted) {
  std::vector<NotCold> found;
  std::map<FileNumber, std::string> mapped;
  const auto stays = [](const SurveyedFile& file) {
    return file.bytes > 0 && (file.file_system->kind != CacheKind::here || file.cached_bytes != 0u);
  };
  if (evicted && std::ranges::any_of(files, stays)) mapped = mapped_files();
  for (const SurveyedFile& file : files) {
    if (!stays(file)) continue;
    found.push_back(
        {file.path, file.cached_bytes.value_or(file.bytes), why_not_cold(file, evicted, mapped)});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &NotCold::bytes);
  return found;
}

std::vector<ColdResult::OfFileSystem> by_file_system(const std::vector<SurveyedFile>& files) {
  std::map<std::string, ColdResult::OfFileSystem> found;
  for (const SurveyedFile& file : files) {
    auto& one = found[file.file_system->type];
    one.file_system = *file.file_system;
    ++one.files;
    one.bytes += file.bytes;
  }
  std::vector<ColdResult::OfFileSystem> all;
  all.reserve(found.size());
  for (auto& [type, one] : found) all.push_back(std::move(one));
  return all;
}

ColdResult summed_up(const CacheSurvey& survey, const ColdArguments& arguments) {
  ColdResult result;
  std::map<std::string, ColdResult::Row> rows;
  result.total.path = "total";
  for (const SurveyedFile& file : survey.files()) {
    const bool each = arguments.files || arguments.ranges;
    const std::string path = each ? file.path : row_of(file.path, arguments.paths);
    ColdResult::Row& row = rows[path];
    row.path = path;
    add_to(row, file);
    if (each) row.ranges = file.ranges;
    add_to(result.total, file);
  }
  for (auto& [path, row] : rows) result.rows.push_back(std::move(row));
  std::ranges::stable_sort(result.rows, std::ranges::greater(), &ColdResult::Row::cached_bytes);
  result.file_systems = by_file_system(survey.files());
  result.unreadable = survey.unreadable();
  if (arguments.evict || arguments.certify) {
    result.not_cold = find_not_cold(survey.files(), arguments.evict);
  }
  return result;
}

}  // namespace

bool ColdResult::cold() const {
  const auto elsewhere = [](const OfFileSystem& one) {
    return one.bytes > 0 && one.file_system.kind != CacheKind::here;
  };
  return total.cached_bytes == 0 && total.unknown == 0 && unreadable.empty() &&
         std::ranges::none_of(file_systems, elsewhere);
}

std::string row_of(const std::string& path, const std::vector<std::string>& paths) {
  for (const std::string& given : paths) {
    const std::string root = without_slashes(given);
    if (path == root) return path;
    const std::string below = root == "/" ? root : root + "/";
    // As paths of entries are made: the folder as it was given, a slash unless it ends with one.
    const std::string& prefix = given.ends_with('/') ? given : below;
    if (!path.starts_with(prefix)) continue;
    const size_t end = path.find('/', prefix.size());
    return end == std::string::npos ? path : path.substr(0, end + 1);
  }
  return path;
}

ExitCode show_cold(const ColdArguments& arguments) {
  CacheSurvey survey(arguments.ranges);
  for (const std::string& path : arguments.paths) survey.add(path);
  uint64_t before = 0;
  if (arguments.evict) {
    for (const SurveyedFile& file : survey.files()) before += file.cached_bytes.value_or(0);
    survey.evict();
  }
  ColdResult result = summed_up(survey, arguments);
  result.evicted = arguments.evict;
  result.cached_before = before;
  print_result(arguments.json, cold_json(result), cold_text(result, arguments));
  const bool asked = arguments.evict || arguments.certify;
  return asked && !result.cold() ? ExitCode::threshold : ExitCode::ok;
}

}  // namespace stoker
