#include "io/http/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <list>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/metrics/clock.h"

// The life of a connection:
//   1. It is accepted; when there are 64, the oldest one is closed for it, so that nobody who holds
//      connections open keeps others out.
//   2. Its request is read until the empty line, within 5 s in all: a client that sends a byte now
//      and then gains nothing by it.
//   3. Its reply is sent within 5 s, and the sending side is shut down.
//   4. What the client still sends is thrown away, up to 256 KiB and 1 s, for close() with unread
//      bytes resets the connection, and the client may lose the reply.
// One thread does this for all connections and never blocks but in poll(). With Handling::at_once a
// thread of its own makes the reply between 2 and 3, and an eventfd wakes poll() when it is there.

namespace stoker {
namespace {

constexpr size_t kMaxConnections = 64;
constexpr int kBacklog = 128;
constexpr int kAcceptedAtOnce = 16;
constexpr size_t kMaxRequest = size_t{16} << 10;
constexpr size_t kMaxDiscarded = size_t{256} << 10;
constexpr std::chrono::seconds kRequestTime{5};
constexpr std::chrono::seconds kReplyTime{5};
constexpr std::chrono::milliseconds kGoodbyeTime{1000};
constexpr std::chrono::milliseconds kFarewell{500};
constexpr std::chrono::milliseconds kWithoutDescriptors{100};

bool not_now() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::string advice(int errno_value) {
  switch (errno_value) {
    case EADDRINUSE:
      return "stop what listens there, name another port, or allow any free one";
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return "name an address of this machine, such as 127.0.0.1";
    case EACCES:
      return "name a port from 1024 on";
    default:
      return "name another address";
  }
}

[[noreturn]] void refuse(const HttpAddress& address, int errno_value) {
  throw Error(ExitCode::environment,
              fmt::format("cannot listen on {}: {}; {}", Scalar<HttpAddress>::format(address),
                          std::generic_category().message(errno_value), advice(errno_value)));
}

FileDescriptor new_listener(const HttpAddress& address, bool other_port_if_taken) {
  sockaddr_storage where{};
  const socklen_t size = to_socket(address, where);
  FileDescriptor listener(::socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (!listener ||
      // Without it, a restarted run waits a minute for its port. It does not allow two listeners.
      ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener.get(), reinterpret_cast<sockaddr*>(&where), size) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    const int why = errno;
    if (why == EADDRINUSE && other_port_if_taken && address.port != 0) {
      return new_listener({address.host, 0}, false);
    }
    refuse(address, why);
  }
  return listener;
}

HttpAddress address_of(const FileDescriptor& listener) {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &size);
  return from_socket(where);
}

// Training comes first. The priority is only lowered: a process may have been started with less.
void name_and_lower_priority() {
  pthread_setname_np(pthread_self(), "http-server");
  const sched_param none{};
  if (::sched_getscheduler(0) == SCHED_OTHER) ::sched_setscheduler(0, SCHED_BATCH, &none);
  ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 5);
}

// A request that a thread of its own answers. It is destroyed when the thread has ended.
class Answering {
 public:
  // `site` and `made`, an eventfd, outlive it.
  Answering(std::string request, const HttpSite& site, int made)
      : thread_([this, request = std::move(request), &site, made](const std::stop_token& stop) {
          const Interruptible by_the_server(stop);
          try {
            answer_ = http_answer(request, site);
          } catch (const std::exception&) {  // no memory: no answer
          }
          done_ = true;
          ::eventfd_write(made, 1);
        }) {}
  bool done() const { return done_; }
  void give_up() { thread_.request_stop(); }
  // Once, when it is done.
  std::string take() { return std::move(answer_); }

 private:
  std::string answer_;
  std::atomic<bool> done_ = false;
  std::jthread thread_;
};

// The requests that threads are at work on, also those whose connections are gone. `made` is an
// eventfd that each of them writes to when it is done.
struct Answers {
  int made = -1;  // none: requests are answered at once
  std::list<std::shared_ptr<Answering>> all;
};

// One connection. Never blocks.
class HttpConnection {
 public:
  // `site` and `answers` outlive it.
  HttpConnection(FileDescriptor socket, const HttpSite& site, Answers& answers, TimePoint now)
      : socket_(std::move(socket)), site_(site), answers_(answers), deadline_(now + kRequestTime) {}
  ~HttpConnection() {
    if (answering_) answering_->give_up();
  }

  int socket() const { return socket_.get(); }
  // What poll() has to wait for.
  short events() const {
    if (state_ == State::waiting) return 0;
    return state_ == State::reply ? POLLOUT : POLLIN;
  }
  // When it has to be closed, whatever it does.
  TimePoint deadline() const { return deadline_; }
  bool replying() const { return state_ == State::reply; }
  // Whether its reply has been made by another thread meanwhile.
  bool has_answer() const { return answering_ && answering_->done(); }
  // To be called when poll() reported its socket. False: it is over.
  bool advance(TimePoint now) {
    if (state_ == State::request) {
      if (!receive()) return false;
      if (state_ == State::request) return true;
      if (state_ == State::waiting) {
        deadline_ = TimePoint::max();
        return true;
      }
    }
    if (state_ == State::waiting) {
      if (!has_answer()) return false;  // the client has gone
      bytes_ = answering_->take();
      answering_.reset();
      if (bytes_.empty()) return false;
      begin_reply();
    }
    if (state_ == State::reply) {
      if (!send()) return false;
      if (state_ == State::reply) return true;
      deadline_ = now + kGoodbyeTime;
    }
    return discard();
  }

 private:
  enum class State { request, waiting, reply, goodbye };

  void begin_reply() {
    state_ = State::reply;
    deadline_ = Clock::now() + kReplyTime;  // a handler may have taken long
  }

  bool receive() {
    std::array<char, 4096> block;
    const size_t room = std::min(block.size(), kMaxRequest - bytes_.size());
    const ssize_t count = ::recv(socket(), block.data(), room, 0);
    if (count < 0) return not_now();
    // The end of the headers may lie across two blocks.
    const size_t from = bytes_.size() < 3 ? 0 : bytes_.size() - 3;
    bytes_.append(block.data(), static_cast<size_t>(count));
    const size_t end = bytes_.find("\r\n\r\n", from);
    if (end == std::string::npos && count > 0 && bytes_.size() < kMaxRequest) return true;
    if (bytes_.empty()) return false;
    if (end != std::string::npos) bytes_.resize(end + 4);
    if (answers_.made >= 0) {
      answering_ = std::make_shared<Answering>(std::move(bytes_), site_, answers_.made);
      answers_.all.push_back(answering_);
      state_ = State::waiting;
      return true;
    }
    bytes_ = http_answer(bytes_, site_);
    begin_reply();
    return true;
  }

  bool send() {
    const ssize_t count =
        ::send(socket(), bytes_.data() + done_, bytes_.size() - done_, MSG_NOSIGNAL);
    if (count < 0) return not_now();
    done_ += static_cast<size_t>(count);
    if (done_ < bytes_.size()) return true;
    ::shutdown(socket(), SHUT_WR);
    std::string().swap(bytes_);
    done_ = 0;
    state_ = State::goodbye;
    return true;
  }

  bool discard() {
    std::array<char, 16384> block;
    while (done_ < kMaxDiscarded) {
      const ssize_t count = ::recv(socket(), block.data(), block.size(), 0);
      if (count < 0) return not_now();
      if (count == 0) return false;
      done_ += static_cast<size_t>(count);
    }
    return false;
  }

  FileDescriptor socket_;
  const HttpSite& site_;
  Answers& answers_;
  std::shared_ptr<Answering> answering_;  // while it waits
  State state_ = State::request;
  TimePoint deadline_;
  std::string bytes_;  // the request, then the reply
  size_t done_ = 0;    // how many were sent, then how many were discarded
};

class Service {
 public:
  Service(int listener, int stop, int made, const HttpSite& site)
      : listener_(listener), stop_(stop), site_(site), answers_{made, {}} {
    polled_.reserve(kFirst + kMaxConnections);
  }

  void run() {
    name_and_lower_priority();
    for (bool running = true; running;) {
      try {
        running = round();
      } catch (const std::exception&) {  // out of memory: give all back and go on
        connections_.clear();
      }
    }
  }

 private:
  bool round() {
    wait();
    const TimePoint now = Clock::now();
    if (polled_[0].revents != 0) leave(now);
    serve(now);
    if (stopping_) return !connections_.empty() && now < stop_at_;
    if (polled_[1].revents != 0) accept_some(now);
    return true;
  }

  void wait() {
    polled_.clear();
    polled_.push_back({stopping_ ? -1 : stop_, POLLIN, 0});
    const bool accepting = !stopping_ && Clock::now() >= accept_at_;
    polled_.push_back({accepting ? listener_ : -1, POLLIN, 0});
    polled_.push_back({answers_.made, POLLIN, 0});
    TimePoint until = stopping_ ? stop_at_ : accepting ? TimePoint::max() : accept_at_;
    for (const HttpConnection& connection : connections_) {
      polled_.push_back({connection.socket(), connection.events(), 0});
      until = std::min(until, connection.deadline());
    }
    int timeout_ms = -1;
    if (until != TimePoint::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      timeout_ms = static_cast<int>(std::max<int64_t>(0, left.count()));
    }
    ::poll(polled_.data(), polled_.size(), timeout_ms);
  }

  void serve(TimePoint now) {
    eventfd_t made = 0;
    if (polled_[2].revents != 0) ::eventfd_read(answers_.made, &made);
    auto polled = polled_.begin() + kFirst;
    for (auto each = connections_.begin(); each != connections_.end(); ++polled) {
      const bool stirs = polled->revents != 0 || each->has_answer();
      const bool alive = !stirs || each->advance(now);
      const bool wanted = !stopping_ || each->replying();
      if (alive && wanted && now < each->deadline()) {
        ++each;
      } else {
        each = connections_.erase(each);
      }
    }
    std::erase_if(answers_.all,
                  [](const auto& one) { return one->done() && one.use_count() == 1; });
  }

  void accept_some(TimePoint now) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      FileDescriptor socket(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          if (!connections_.empty()) connections_.pop_front();
          accept_at_ = now + kWithoutDescriptors;
        }
        return;
      }
      if (connections_.size() >= kMaxConnections) connections_.pop_front();
      connections_.emplace_back(std::move(socket), site_, answers_, now);
    }
  }

  void leave(TimePoint now) {
    stopping_ = true;
    stop_at_ = now + kFarewell;
  }

  const int listener_;
  const int stop_;
  const HttpSite& site_;
  Answers answers_;                        // destroyed after the connections, which give them up
  std::list<HttpConnection> connections_;  // the oldest first
  static constexpr int kFirst = 3;
  std::vector<pollfd> polled_;  // stop, listener, what was made, connections
  TimePoint accept_at_{};
  bool stopping_ = false;
  TimePoint stop_at_{};
};

}  // namespace

WebServer::WebServer(const HttpAddress& address, bool other_port_if_taken, HttpRoutes routes,
                     std::vector<std::string> names, Handling handling)
    : listener_(new_listener(address, other_port_if_taken)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      made_(handling == Handling::at_once ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1),
      address_(address_of(listener_)),
      site_{std::move(routes), {address_, std::move(names)}} {
  if (!stop_ || (handling == Handling::at_once && !made_)) refuse(address, errno);
  thread_ =
      std::jthread([this] { Service(listener_.get(), stop_.get(), made_.get(), site_).run(); });
}

WebServer::~WebServer() { ::eventfd_write(stop_.get(), 1); }

}  // namespace stoker
