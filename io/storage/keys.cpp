#include "io/storage/keys.h"

#include <algorithm>

#include "io/core/system/file.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// Takes the first component and the "/" behind it out of `path`.
std::string_view cut_component(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(path.size(), part.size() + 1));
  return part;
}

// Copied only where it might be a temporary name: this runs for every sample.
bool is_component(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && part.find('\0') == part.npos &&
         !(part.starts_with('.') && is_temporary(std::string(part)));
}

}  // namespace

bool is_key(std::string_view key) {
  // One key for one name: "\\x2e\\x2e" would lead out of the tier.
  if (key.find('\\') != key.npos && to_text(from_text(key)) != key) return false;
  if (key.empty() || key.ends_with('/')) return false;
  while (!key.empty()) {
    if (!is_component(cut_component(key))) return false;
  }
  return true;
}

std::string plain_key(std::string_view text) {
  std::string key = text.starts_with('/') ? "/" : "";
  while (!text.empty()) {
    const std::string_view part = cut_component(text);
    if (part.empty() || part == ".") continue;
    if (!key.empty() && !key.ends_with('/')) key += '/';
    key += part;
  }
  return key;
}

std::string key_extension(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? "" : lower_case(name.substr(dot));
}

bool is_system_folder(std::string_view name) {
  // Of ext4, Windows, archives and servers of macOS, servers of Synology, QNAP and NetApp, Python.
  static constexpr std::string_view kNames[] = {"lost+found",
                                                "System Volume Information",
                                                "$RECYCLE.BIN",
                                                "$Recycle.Bin",
                                                "RECYCLER",
                                                "__MACOSX",
                                                "Network Trash Folder",
                                                "@eaDir",
                                                "@sharebin",
                                                "#recycle",
                                                "#snapshot",
                                                "@Recycle",
                                                "@Recently-Snapshot",
                                                "@tmp",
                                                "~snapshot",
                                                "__pycache__"};
  // Windows puts what it mends on a disk into FOUND.000, FOUND.001 and so on.
  if (name.starts_with("FOUND.0")) return true;
  return name.starts_with('.') || std::ranges::find(kNames, name) != std::end(kNames);
}

bool in_system_folder(std::string_view key) {
  while (key.find('/') != key.npos) {
    if (is_system_folder(cut_component(key))) return true;
  }
  return false;
}

void Field<KeyPath>::read(const Section& at, KeyPath& out, Limits limits) {
  std::string text;
  Field<std::string>::read(at, text, limits);
  out.value = plain_key(text);
  if (out.value.empty() || is_key(out.value)) return;
  at.fail("must be a relative path inside the tier such as train/images, got '" + text + "'");
}

}  // namespace stoker
