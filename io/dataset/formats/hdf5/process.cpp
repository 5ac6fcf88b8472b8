#include "io/dataset/formats/hdf5/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "io/core/config/plugin.h"
#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/system/child_process.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/dataset/shards/shard_index.h"

namespace stoker {
namespace {

constexpr uint64_t kMaxReason = 1000;
constexpr uint64_t kMaxAbsent = (kHdf5MaxPaths + 2) * (kHdf5MaxKey + 1);
// Whoever waits looks after this time whether it was told to give up.
constexpr int64_t kLookMs = 50;
// libhdf5 may read a place again, but not for ever.
constexpr uint64_t kTimesRead = 8;
constexpr uint64_t kReadBeside = uint64_t{256} << 20;

// How stoker_hdf5 is started for a call: it answers at the other end of `socket`, and has nothing
// of libhdf5's own settings. A signal to the run's process group, such as Ctrl-C, is not for it:
// the run may still read.
ProcessStart start_of(const Hdf5Call& call, const FileDescriptor& socket) {
  ProcessStart start{call.program, call.arguments, {}, {}, true};
  start.descriptors = {{STDIN_FILENO, socket.get()}, {STDOUT_FILENO, -1}, {STDERR_FILENO, -1}};
  if (call.file >= 0) start.descriptors.emplace_back(kHdf5FileDescriptor, call.file);
  // The way to its libraries.
  if (const char* const libraries = std::getenv("LD_LIBRARY_PATH")) {
    start.environment.push_back(std::string("LD_LIBRARY_PATH=") + libraries);
  }
  return start;
}

// A process of stoker_hdf5, at the other end of a socket.
class Hdf5Process {
 public:
  explicit Hdf5Process(const Hdf5Call& call)
      : subject_(call.subject), program_(call.program), patience_ms_(call.patience_ms) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw_errno("start", program_, errno);
    }
    socket_ = FileDescriptor(ends[0]);
    const FileDescriptor theirs(ends[1]);
    process_.emplace(start_of(call, theirs));
  }

  void receive(void* to, size_t bytes) {
    auto* at = static_cast<uint8_t*>(to);
    while (bytes > 0) {
      await(POLLIN);
      const ssize_t count = ::recv(socket_.get(), at, bytes, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) fail_ended();
      at += count;
      bytes -= static_cast<size_t>(count);
    }
  }
  // `bytes` of text, or `most` of them.
  std::string receive_text(uint64_t bytes, uint64_t most) {
    std::string text(std::min(bytes, most), '\0');
    receive(text.data(), text.size());
    return text;
  }
  void send(Bytes bytes) {
    while (!bytes.empty()) {
      await(POLLOUT);
      const ssize_t count =
          ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) fail_ended();
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }
  // What `absent` says (protocol.h).
  [[noreturn]] void miss(const std::string& text) const {
    std::vector<std::string> texts;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\0', at), text.size());
      texts.push_back(to_text(text.substr(at, end - at)));
      at = end + 1;
    }
    if (texts.size() < 2) fail("can't be read: stoker_hdf5 answered nonsense");
    throw UnfitShard(fmt::format("dataset: {} has no data set '{}'{}: {}", subject_, texts[0],
                                 what_is_there(texts[0], {texts.begin() + 2, texts.end()}),
                                 texts[1]));
  }
  [[noreturn]] void fail(const std::string& why) const {
    // A refusal that names an option says what to do.
    const bool advised = why.find("(dataset.") != std::string::npos;
    throw Error(ExitCode::data,
                fmt::format("dataset: {} {}{}", subject_, why,
                            advised ? ""
                                    : ": repair it, write it again, or take it out of the "
                                      "pattern"));
  }

 private:
  void await(short what) {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + std::chrono::milliseconds(patience_ms_);
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
      pollfd waiting{socket_.get(), what, 0};
      throw_if_interrupted();
      const int ready =
          ::poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(left.count(), 0, kLookMs)));
      if (ready > 0) return;
      if (left.count() > 0) continue;
      fail(
          fmt::format("is damaged: libhdf5 comes to no end with it (stopped after {} ms "
                      "without progress)",
                      patience_ms_));
    }
  }

  // Its end of the socket is closed before it has answered.
  [[noreturn]] void fail_ended() {
    // One that ends keeps its status; one that only closed it would stay.
    process_->signal(SIGKILL);
    const int code = process_->wait();
    if (code == 127) {
      throw Error(ExitCode::environment,
                  program_ + ": cannot be loaded: install libhdf5 (Debian's package libhdf5-dev)");
    }
    fail(code > 128
             ? fmt::format("is damaged: libhdf5 crashed on it (signal {})", code - 128)
             : fmt::format("can't be read: stoker_hdf5 ended with status {} and no answer", code));
  }

  const std::string subject_;
  const std::string program_;
  const int patience_ms_;
  FileDescriptor socket_;
  std::optional<ChildProcess> process_;
};

}  // namespace

Buffer run_hdf5(const Hdf5Call& call) {
  Hdf5Process process(call);
  Buffer bytes;
  uint64_t allowed = kReadBeside + std::min(call.readable, UINT64_MAX / 16) * kTimesRead;
  while (true) {
    Hdf5Message message;
    process.receive(&message, sizeof message);
    switch (message.verb) {
      case Hdf5Verb::read:
        if (message.offset > call.readable || message.bytes > call.readable - message.offset ||
            message.bytes > std::min(kHdf5MaxRead, allowed)) {
          process.fail("is damaged: libhdf5 asks for more than there is");
        }
        allowed -= message.bytes;
        call.read({message.offset, message.bytes}, bytes);
        process.send(bytes.bytes());
        break;
      case Hdf5Verb::answer:
        if (message.bytes > kHdf5MaxAnswer) process.fail("can't be read: the answer is too long");
        process.receive(bytes.resize(message.bytes), message.bytes);
        return bytes;
      case Hdf5Verb::refusal:
        process.fail(to_text(process.receive_text(message.bytes, kMaxReason)));
      case Hdf5Verb::absent:
        process.miss(process.receive_text(message.bytes, kMaxAbsent));
      default:
        process.fail("can't be read: stoker_hdf5 answered nonsense");
    }
  }
}

std::string hdf5_program() {
  std::string path = program_beside_library("stoker_hdf5");
  if (std::filesystem::exists(path)) return path;
  throw Error(ExitCode::environment,
              path +
                  " is not there: it is built where libhdf5 is: install Debian's package "
                  "libhdf5-dev and run ./run.sh");
}

std::string hdf5_version() {
  const Buffer version = run_hdf5({"stoker_hdf5", {"version"}});
  return to_text({reinterpret_cast<const char*>(version.data()), version.size()});
}

}  // namespace stoker
