#include "app/arena/results.h"

#include <fcntl.h>

#include "io/core/file.h"

namespace stoker {
namespace {

using nlohmann::json;

json to_line(const ArenaRow& row) {
  return {{"entry", row.entry},     {"workers", row.workers},     {"round", row.round},
          {"hash", row.hash},       {"exit_code", row.exit_code}, {"error", row.error},
          {"seconds", row.seconds}, {"load", row.load},           {"output", row.output}};
}

ArenaRow from_line(const json& line) {
  return {line.at("entry"),   line.at("workers"),   line.at("round"),
          line.at("hash"),    line.at("exit_code"), line.at("error"),
          line.at("seconds"), line.at("load"),      line.at("output")};
}

}  // namespace

ArenaResults::ArenaResults(std::string path) : path_(std::move(path)) {
  const std::string text = read_if_there(path_).value_or("");
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const json line = json::parse(text.substr(at, end - at), nullptr, false);
    if (line.is_object() && line.contains("output")) rows_.push_back(from_line(line));
    at = end + 1;
  }
}

void ArenaResults::add(const ArenaRow& row) {
  // A line that was broken off stays alone on its line.
  const bool broken = [&] {
    const auto text = read_if_there(path_);
    return text && !text->empty() && text->back() != '\n';
  }();
  const std::string line = (broken ? "\n" : "") + to_line(row).dump() + "\n";
  const FileDescriptor file = open_file("write", path_, O_WRONLY | O_CREAT | O_APPEND);
  write_all(file, {reinterpret_cast<const uint8_t*>(line.data()), line.size()}, path_);
  rows_.push_back(row);
}

const ArenaRow* ArenaResults::find(const ArenaRun& run, const ArenaEntry& entry) const {
  for (const ArenaRow& row : rows_) {
    if (row.ok() && row.entry == entry.name && row.workers == run.workers &&
        row.round == run.round && row.hash == run.hash) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace stoker
