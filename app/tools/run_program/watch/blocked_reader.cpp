#include "app/tools/run_program/watch/blocked_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "app/tools/run_program/watch/system_calls.h"
#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

using What = CallKind::What;

constexpr size_t kMostPolled = 16;

// What stands in another process's memory; less where that is all that may be read.
std::string memory_of(pid_t pid, uint64_t address, size_t size) {
  std::string bytes(size, '\0');
  iovec here{.iov_base = bytes.data(), .iov_len = size};
  // The other process's address.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  iovec there{.iov_base = reinterpret_cast<void*>(address), .iov_len = size};
  const ssize_t count = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
  bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return bytes;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "0100007F:1F90" of /proc/net/tcp: an address by words of the machine's order.
std::string host_and_port(std::string_view text) {
  const size_t colon = text.find(':');
  unsigned port = 0;
  if (colon == std::string_view::npos) return {};
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), port, 16);
  if (port == 0) return {};
  // Of IPv6 the last word: that of IPv4 addresses in it.
  uint32_t word = 0;
  std::from_chars(text.data() + colon - std::min<size_t>(colon, 8), text.data() + colon, word, 16);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
  if (colon > 8 && !contains(text, "0000FFFF")) return fmt::format("[IPv6]:{}", port);
  return fmt::format("{}.{}.{}.{}:{}", bytes[0], bytes[1], bytes[2], bytes[3], port);
}

// Whether a poll has no end in time. That of poll() is an int below 0; ppoll() points to it, at an
// address beyond those of 32 bits, or at nothing.
bool polls_forever(const TaskCall& call) {
  const uint64_t timeout = call.arguments[2];
  return timeout == 0 || timeout >> 31 == 1 || static_cast<int64_t>(timeout) < 0;
}

}  // namespace

Doing doing_by_place(char state, std::string_view place) {
  if (contains(place, "futex")) return Doing::on_lock;
  if (contains(place, "pipe")) return Doing::on_pipe;
  if (contains(place, "rwsem") || contains(place, "mutex")) return Doing::other;
  if (state == 'D') return Doing::in_file;
  if (contains(place, "nanosleep")) return Doing::asleep;
  if (contains(place, "request_wait") || contains(place, "folio_wait") ||
      contains(place, "io_schedule")) {
    return Doing::in_file;
  }
  if (place.starts_with("do_wait")) return Doing::on_children;
  if (contains(place, "poll")) return Doing::on_poll;
  if (contains(place, "unix_stream")) return Doing::on_pipe;
  if (contains(place, "sk_wait") || contains(place, "inet_csk")) return Doing::on_socket;
  return Doing::other;
}

Doing doing_by_link(std::string_view link) {
  if (link.starts_with("pipe:")) return Doing::on_pipe;
  if (link.starts_with("anon_inode:[eventfd]")) return Doing::on_lock;
  if (link.starts_with("anon_inode:[io_uring]")) return Doing::in_file;
  if (link.starts_with("/dev/nvidia")) return Doing::on_gpu;
  if (link.starts_with("/dev/shm/")) return Doing::in_file;
  for (const char* none : {"/dev/", "/proc/", "/sys/"}) {
    if (link.starts_with(none)) return Doing::other;
  }
  return link.starts_with('/') ? Doing::in_file : Doing::other;
}

std::string other_end(std::string_view table, std::string_view inode) {
  for (const std::string_view line : proc::split(table, '\n')) {
    const auto words = proc::split(line, ' ');
    if (words.size() > 9 && words[9] == inode) return host_and_port(words[2]);
  }
  return {};
}

std::string BlockedReader::place_of(pid_t pid, pid_t tid) {
  return std::string(files_.read(fmt::format("/proc/{}/task/{}/wchan", pid, tid)));
}

Blocked BlockedReader::read(pid_t pid, pid_t tid, char state) {
  if (state == 'T' || state == 't') return {};
  const std::string_view text = files_.read(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  if (text.empty()) return {.doing = doing_by_place(state, place_of(pid, tid)), .path = {}};
  const auto call = parse_call(text);
  // It has run on between two readings.
  if (!call) return {.doing = Doing::on_core, .path = {}};
  return in_call(pid, tid, state, *call);
}

Blocked BlockedReader::in_call(pid_t pid, pid_t tid, char state, const TaskCall& call) {
  if (call.number < 0) return in_memory(pid, tid, state);
  const CallKind kind = kind_of_call(call.number);
  switch (kind.what) {
    case What::descriptor:
      return on_descriptor(pid, tid, call.arguments[kind.argument]);
    case What::path:
      return on_path(
          pid, call.arguments[kind.argument],
          kind.argument == 0 ? AT_FDCWD : static_cast<int>(call.arguments[kind.argument - 1]));
    case What::file:
      return {.doing = Doing::in_file, .path = {}};
    case What::lock:
      return {.doing = Doing::on_lock, .path = {}};
    case What::poll:
      return on_any(pid, tid, polled(pid, call), polls_forever(call));
    case What::select:
      return on_any(pid, tid, selected(pid, call), false);
    case What::epoll:
      return on_any(pid, tid, epolled(pid, call), false);
    case What::sleep:
      return {.doing = Doing::asleep, .path = {}};
    case What::children:
      return {.doing = Doing::on_children, .path = {}};
    case What::memory:
      return in_memory(pid, tid, state);
    case What::other:
      break;
  }
  // A call that is not in the table, such as one on a file that is new.
  return {.doing = doing_by_place(state, place_of(pid, tid)), .path = {}};
}

Blocked BlockedReader::in_memory(pid_t pid, pid_t tid, char state) {
  const Doing place = doing_by_place(state, place_of(pid, tid));
  return {.doing = place == Doing::in_file ? Doing::in_fault : Doing::other, .path = {}};
}

Blocked BlockedReader::on_descriptor(pid_t pid, pid_t tid, uint64_t descriptor) {
  const std::string link(files_.link(fmt::format("/proc/{}/fd/{}", pid, descriptor)));
  if (link.starts_with("socket:[")) return on_socket(pid, link.substr(8, link.size() - 9));
  if (link.empty()) return {.doing = doing_by_place('S', place_of(pid, tid)), .path = {}};
  Blocked blocked{.doing = doing_by_link(link), .path = {}};
  // A file may be a named pipe.
  if (blocked.doing == Doing::in_file && contains(place_of(pid, tid), "pipe")) {
    blocked.doing = Doing::on_pipe;
  }
  if (blocked.doing == Doing::in_file) blocked.path = link;
  return blocked;
}

Blocked BlockedReader::on_socket(pid_t pid, const std::string& inode) {
  constexpr size_t kMost = 4096;
  if (sockets_.size() > kMost) sockets_.clear();
  auto known = sockets_.find(inode);
  if (known == sockets_.end()) {
    std::string end;
    for (const char* table : {"tcp", "tcp6"}) {
      if (!end.empty()) break;
      end = other_end(proc::read(fmt::format("/proc/{}/net/{}", pid, table)).value_or(""), inode);
    }
    known = sockets_.emplace(inode, std::move(end)).first;
  }
  return {.doing = known->second.empty() ? Doing::on_pipe : Doing::on_socket,
          .path = known->second};
}

Blocked BlockedReader::on_path(pid_t pid, uint64_t address, int directory) {
  // Page by page, so that a name near the end of a mapping is read, too.
  constexpr uint64_t kPage = 4096;
  std::string name = memory_of(pid, address, kPage - address % kPage);
  if (!name.empty() && name.find('\0') == std::string::npos) {
    name += memory_of(pid, address + name.size(), kPage);
  }
  name.resize(std::min(name.find('\0'), name.size()));
  if (!name.starts_with('/') && !name.empty()) {
    const std::string link = directory == AT_FDCWD ? "cwd" : fmt::format("fd/{}", directory);
    name = std::string(files_.link(fmt::format("/proc/{}/{}", pid, link))) + "/" + name;
  }
  if (name.starts_with("/proc/") || name.starts_with("/sys/")) return {};
  return {.doing = Doing::in_file, .path = std::move(name)};
}

Blocked BlockedReader::on_any(pid_t pid, pid_t tid, const std::vector<uint64_t>& descriptors,
                              bool forever) {
  size_t pipes = 0;
  Blocked best{.doing = Doing::on_poll, .path = {}};
  for (const uint64_t descriptor : descriptors) {
    Blocked one = on_descriptor(pid, tid, descriptor);
    if (one.doing == Doing::on_gpu) return one;
    if (one.doing == Doing::on_pipe) ++pipes;
    if (one.doing == Doing::on_socket ||
        (one.doing == Doing::on_pipe && best.doing == Doing::on_poll)) {
      best = std::move(one);
    }
  }
  // So Python waits for one of several processes to end.
  if (forever && pipes > 1 && pipes == descriptors.size()) best.doing = Doing::on_children;
  return best;
}

std::vector<uint64_t> BlockedReader::polled(pid_t pid, const TaskCall& call) {
  struct Polled {
    int32_t descriptor;
    int16_t events;
    int16_t ready;
  };
  const size_t count = std::min<uint64_t>(call.arguments[1], kMostPolled);
  const std::string bytes = memory_of(pid, call.arguments[0], count * sizeof(Polled));
  std::vector<uint64_t> descriptors;
  for (size_t at = 0; at + sizeof(Polled) <= bytes.size(); at += sizeof(Polled)) {
    Polled one{};
    std::memcpy(&one, bytes.data() + at, sizeof one);
    if (one.descriptor >= 0) descriptors.push_back(static_cast<uint64_t>(one.descriptor));
  }
  return descriptors;
}

std::vector<uint64_t> BlockedReader::selected(pid_t pid, const TaskCall& call) {
  std::vector<uint64_t> descriptors;
  if (call.arguments[1] == 0) return descriptors;
  const uint64_t count = std::min<uint64_t>(call.arguments[0], 1024);
  const std::string bits = memory_of(pid, call.arguments[1], (count + 7) / 8);
  for (uint64_t i = 0; i < 8 * bits.size() && descriptors.size() < kMostPolled; ++i) {
    if ((static_cast<uint8_t>(bits[i / 8]) >> (i % 8) & 1) != 0) descriptors.push_back(i);
  }
  return descriptors;
}

std::vector<uint64_t> BlockedReader::epolled(pid_t pid, const TaskCall& call) {
  const std::string_view text =
      files_.read(fmt::format("/proc/{}/fdinfo/{}", pid, call.arguments[0]));
  std::vector<uint64_t> descriptors;
  for (const std::string_view line : proc::split(text, '\n')) {
    const auto words = proc::split(line, ' ');
    if (words.size() < 2 || words[0] != "tfd:" || descriptors.size() >= kMostPolled) continue;
    if (const auto number = proc::number(words[1])) descriptors.push_back(*number);
  }
  return descriptors;
}

std::string BlockedReader::mount_of_path(pid_t pid, const std::string& path) {
  const auto text = proc::read(fmt::format("/proc/{}/mountinfo", pid));
  return text ? mount_of(*text, path) : std::string();
}

std::vector<std::string> BlockedReader::mapped_files(pid_t pid) {
  std::vector<std::string> found;
  const auto text = proc::read(fmt::format("/proc/{}/maps", pid));
  if (!text) return found;
  for (const std::string_view line : proc::split(*text, '\n')) {
    const size_t slash = line.find('/');
    const auto words = proc::split(line, ' ');
    if (slash == std::string_view::npos || words.size() < 6 || contains(words[1], "x")) continue;
    const std::string_view path = line.substr(slash);
    if (path.starts_with("/dev/") || contains(path, ".so") || contains(path, "locale")) continue;
    uint64_t begin = 0;
    uint64_t end = 0;
    const size_t dash = words[0].find('-');
    std::from_chars(words[0].data(), words[0].data() + dash, begin, 16);
    std::from_chars(words[0].data() + dash + 1, words[0].data() + words[0].size(), end, 16);
    constexpr uint64_t kLeast = 1 << 20;
    if (end - begin < kLeast || std::ranges::find(found, path) != found.end()) continue;
    found.emplace_back(path);
  }
  return found;
}

}  // namespace stoker
