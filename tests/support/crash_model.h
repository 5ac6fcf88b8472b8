#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/file_layers.h"

namespace stoker {

// The bytes of a file; shared by all states in which it has them. One thread at a time.
class Contents {
 public:
  explicit Contents(std::string bytes = "") : bytes_(std::move(bytes)) {}
  const std::string& bytes() const { return bytes_; }
  uint64_t digest() const {
    if (!digest_) digest_ = std::hash<std::string>()(bytes_);
    return *digest_;
  }

 private:
  std::string bytes_;
  mutable std::optional<uint64_t> digest_;
};

// What a disk may hold after a crash: paths, parents first; null: a directory.
using DiskState = std::vector<std::pair<std::string, std::shared_ptr<const Contents>>>;

// A file system that promises as little as POSIX does. One thread at a time.
//
// 1. Files and directories are inodes; names are entries in directories. An operation is forced
//    (a crash cannot undo it) once what it changed was synced: bytes and size of a file by a sync
//    of that file, an entry by a sync of its directory, a rename between two directories by syncs
//    of both. A sync of a file does not force its entry.
// 2. At a crash every unforced operation has an outcome of its own: it is lost (0), it is whole
//    (1), or, where it is a write, torn (2 ...). All combinations are possible; real file systems
//    promise more, and differ in what.
// 3. An operation is applied to inodes, not to paths. A file whose entry was lost is absent
//    whatever was synced; one that was renamed has those bytes that were forced.
class CrashModel {
 public:
  // What became of an unforced write: bytes [begin, end) of the file are on the disk, and its size
  // is at least `size`.
  struct Torn {
    uint64_t begin, end, size;
  };

  void apply(const RecordedCall& call) {
    using Op = FileCall::Op;
    if (!call.op) return;
    switch (*call.op) {
      case Op::open:
        handles_[call.path] = find(call.path);
        break;
      case Op::create:
        handles_[call.path] = add_entry(call.path, false);
        break;
      case Op::lock:
        if (!find_or_none(call.path)) add_entry(call.path, false);
        break;
      case Op::make_directory:
        if (!find_or_none(call.path)) add_entry(call.path, true);
        break;
      case Op::write:
      case Op::truncate:
      case Op::reserve:
        pending_.push_back({call, handle(call.path)});
        break;
      case Op::sync:
        force_data(handle(call.path));
        break;
      case Op::rename:
      case Op::replace:
        move_entry(call);
        break;
      case Op::exchange:
        exchange_entries(call);
        break;
      case Op::remove:
      case Op::remove_directory:
        remove_entry(call);
        break;
      case Op::sync_directory:
        force_entries(find(call.path));
        break;
      default:
        throw std::logic_error(std::string("a recording has no ") + to_string(*call.op));
    }
  }

  // The number of outcomes of every unforced operation, in their order.
  std::vector<size_t> outcomes() const {
    std::vector<size_t> counts;
    for (const Pending& pending : pending_) {
      if (!pending.forced) counts.push_back(2 + torn(pending.call).size());
    }
    return counts;
  }

  DiskState state(const std::vector<size_t>& outcome) const {
    std::vector<Inode> inodes = inodes_;
    size_t next = 0;
    for (const Pending& pending : pending_) {
      const size_t chosen = pending.forced ? 1 : outcome.at(next++);
      if (chosen > 0) perform(inodes, pending, chosen);
    }
    DiskState result;
    collect(inodes, kRoot, "", result);
    return result;
  }

  // "lost: write a/b [0, 512); torn: ..."
  std::string describe(const std::vector<size_t>& outcome) const {
    std::string text;
    size_t next = 0;
    for (const Pending& pending : pending_) {
      const size_t chosen = pending.forced ? 1 : outcome.at(next++);
      if (chosen == 1) continue;
      const RecordedCall& call = pending.call;
      text += (text.empty() ? "" : "; ") + std::string(chosen == 0 ? "lost: " : "torn: ") +
              to_string(*call.op) + " " + call.path + (call.to.empty() ? "" : " to " + call.to);
      if (*call.op == FileCall::Op::write) {
        text += " " + range(call.offset, call.offset + call.bytes);
        if (chosen > 1) {
          const Torn kept = torn(call)[chosen - 2];
          text += " to " + range(kept.begin, kept.end);
        }
      }
    }
    return text;
  }

  // What may be left of a write whose sectors (512 B) and pages (4 KiB) reach the disk one by one:
  // it ends early at a sector (about kEnds of them; the first and the last sector are among
  // them), its first page or its first half is missing, or only the new size is there.
  static std::vector<Torn> torn(const RecordedCall& call) {
    constexpr uint64_t kSector = 512, kPage = 4096, kEnds = 16;
    if (*call.op != FileCall::Op::write) return {};
    const uint64_t begin = call.offset, end = begin + call.bytes;
    const uint64_t first = (begin / kSector + 1) * kSector;
    const uint64_t last = (end - 1) / kSector * kSector;
    std::vector<Torn> all;
    if (first < end) {
      const uint64_t step = ((last - first) / kSector / kEnds + 1) * kSector;
      for (uint64_t at = first; at < last; at += step) all.push_back({begin, at, at});
      all.push_back({begin, last, last});
    }
    const uint64_t page = (begin / kPage + 1) * kPage;
    const uint64_t middle = (begin + call.bytes / 2) / kPage * kPage;
    if (page < end) all.push_back({page, end, end});
    if (middle > page) all.push_back({middle, end, end});
    all.push_back({begin, begin, end});
    return all;
  }

 private:
  static constexpr size_t kRoot = 0;

  struct Inode {
    bool directory = false;
    std::map<std::string, size_t> entries = {};
    std::shared_ptr<const Contents> data = std::make_shared<Contents>();
  };
  struct Pending {
    RecordedCall call;
    size_t inode;           // whose data or entry
    std::string from = {};  // names of the entry in its directories
    std::string to = {};
    std::optional<size_t> exchanged = {};  // the entry that `to` was, and `from` becomes
    std::optional<size_t> from_directory = {};
    std::optional<size_t> to_directory = {};
    std::set<size_t> unsynced = {};  // directories
    bool forced = false;             // and yet behind an entry that is not
  };

  static std::string range(uint64_t begin, uint64_t end) {
    return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  }

  static std::pair<std::string, std::string> split(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
  }

  // As the running program sees it.
  std::optional<size_t> find_or_none(const std::string& path) const {
    if (path.empty()) return kRoot;
    const auto [parent, name] = split(path);
    const std::optional<size_t> directory = find_or_none(parent);
    if (!directory) return std::nullopt;
    const auto found = names_[*directory].find(name);
    if (found == names_[*directory].end()) return std::nullopt;
    return found->second;
  }

  size_t find(const std::string& path) const {
    if (const auto inode = find_or_none(path)) return *inode;
    throw std::logic_error("the recording does not say where " + path + " came from");
  }

  // A descriptor knows its file whatever happened to the name since.
  size_t handle(const std::string& path) const {
    const auto found = handles_.find(path);
    return found != handles_.end() ? found->second : find(path);
  }

  size_t add_inode(bool directory) {
    inodes_.push_back({.directory = directory});
    names_.emplace_back();
    return inodes_.size() - 1;
  }

  // A directory that nobody made was there, durable, before the recording began.
  size_t parent_of(const std::string& path) {
    const std::string parent = split(path).first;
    if (const auto inode = find_or_none(parent)) return *inode;
    const size_t above = parent_of(parent);
    const size_t made = add_inode(true);
    inodes_[above].entries[split(parent).second] = made;
    return names_[above][split(parent).second] = made;
  }

  size_t add_entry(const std::string& path, bool directory) {
    const size_t parent = parent_of(path);
    const size_t inode = add_inode(directory);
    const std::string name = split(path).second;
    names_[parent][name] = inode;
    pending_.push_back(
        {.call = {.op = directory ? FileCall::Op::make_directory : FileCall::Op::create,
                  .path = path},
         .inode = inode,
         .to = name,
         .to_directory = parent,
         .unsynced = {parent}});
    return inode;
  }

  void move_entry(const RecordedCall& call) {
    const size_t inode = find(call.path);
    const size_t from = parent_of(call.path), to = parent_of(call.to);
    const std::string old_name = split(call.path).second, new_name = split(call.to).second;
    names_[from].erase(old_name);
    names_[to][new_name] = inode;
    pending_.push_back({.call = call,
                        .inode = inode,
                        .from = old_name,
                        .to = new_name,
                        .from_directory = from,
                        .to_directory = to,
                        .unsynced = {from, to}});
  }

  void exchange_entries(const RecordedCall& call) {
    const size_t other = find(call.to);
    move_entry(call);
    pending_.back().exchanged = other;
    names_[parent_of(call.path)][split(call.path).second] = other;
  }

  void remove_entry(const RecordedCall& call) {
    const size_t inode = find(call.path);
    const size_t parent = parent_of(call.path);
    const std::string name = split(call.path).second;
    names_[parent].erase(name);
    pending_.push_back({.call = call,
                        .inode = inode,
                        .from = name,
                        .from_directory = parent,
                        .unsynced = {parent}});
  }

  static bool is_data(const Pending& pending) {
    return !pending.from_directory && !pending.to_directory;
  }

  void force_data(size_t inode) {
    for (Pending& pending : pending_) {
      if (is_data(pending) && pending.inode == inode) pending.forced = true;
    }
    fold();
  }

  void force_entries(size_t directory) {
    for (Pending& pending : pending_) {
      if (pending.unsynced.erase(directory) > 0) pending.forced = pending.unsynced.empty();
    }
    fold();
  }

  // Performs for good what is forced. Data is in its file's order already; an entry waits until all
  // entries before it are forced, so that the order stays.
  void fold() {
    bool in_order = true;
    std::vector<Pending> left;
    for (Pending& pending : pending_) {
      const bool data = is_data(pending);
      if (pending.forced && (data || in_order)) {
        perform(inodes_, pending, 1);
      } else {
        in_order = in_order && data;
        left.push_back(std::move(pending));
      }
    }
    pending_ = std::move(left);
  }

  static void perform(std::vector<Inode>& inodes, const Pending& pending, size_t outcome) {
    if (pending.from_directory) inodes[*pending.from_directory].entries.erase(pending.from);
    if (pending.to_directory) inodes[*pending.to_directory].entries[pending.to] = pending.inode;
    if (pending.exchanged) {
      inodes[*pending.from_directory].entries[pending.from] = *pending.exchanged;
    }
    if (!is_data(pending)) return;
    std::string data = inodes[pending.inode].data->bytes();
    const RecordedCall& call = pending.call;
    if (*call.op == FileCall::Op::truncate) {
      data.resize(call.bytes);
    } else if (*call.op == FileCall::Op::reserve) {
      data.resize(std::max<size_t>(data.size(), call.bytes));
    } else {
      const uint64_t end = call.offset + call.bytes;
      const Torn kept = outcome == 1 ? Torn{call.offset, end, end} : torn(call)[outcome - 2];
      data.resize(std::max<size_t>(data.size(), kept.size));
      data.replace(kept.begin, kept.end - kept.begin, call.data, kept.begin - call.offset,
                   kept.end - kept.begin);
    }
    inodes[pending.inode].data = std::make_shared<Contents>(std::move(data));
  }

  static void collect(std::vector<Inode>& inodes, size_t directory, const std::string& path,
                      DiskState& result) {
    for (const auto& [name, inode] : inodes[directory].entries) {
      const std::string below = path.empty() ? name : path + "/" + name;
      if (inodes[inode].directory) {
        result.emplace_back(below, nullptr);
        collect(inodes, inode, below, result);
      } else {
        result.emplace_back(below, inodes[inode].data);
      }
    }
  }

  std::vector<Inode> inodes_ = {{.directory = true}};        // what a crash cannot undo
  std::vector<std::map<std::string, size_t>> names_ = {{}};  // what the program sees
  std::vector<Pending> pending_;                             // what lies between
  std::map<std::string, size_t> handles_;
};

}  // namespace stoker
