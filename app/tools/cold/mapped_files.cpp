#include "app/tools/cold/mapped_files.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace stoker {
namespace {

std::string name_of(const std::filesystem::path& process) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return fmt::format("{} ({})", name, process.filename().string());
}

void add_maps(const std::filesystem::path& process, std::map<FileNumber, std::string>& found) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned int major_number = 0, minor_number = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%*x-%*x %*s %*x %x:%x %" SCNu64, &major_number, &minor_number,
                    &inode) != 3 ||
        inode == 0) {
      continue;
    }
    const FileNumber number{makedev(major_number, minor_number), inode};
    if (!found.contains(number)) found.emplace(number, name_of(process));
  }
}

}  // namespace

std::map<FileNumber, std::string> mapped_files() {
  std::map<FileNumber, std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) {
      add_maps(at->path(), found);
    }
  }
  return found;
}

}  // namespace stoker
