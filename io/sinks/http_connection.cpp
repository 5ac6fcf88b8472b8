#include "io/sinks/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

namespace stoker {
namespace {

constexpr size_t kMaxRequest = size_t{16} << 10;
constexpr size_t kMaxDiscarded = size_t{256} << 10;
constexpr std::chrono::seconds kRequestTime{5};
constexpr std::chrono::seconds kReplyTime{5};
constexpr std::chrono::milliseconds kGoodbyeTime{1000};

bool not_now() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

HttpConnection::HttpConnection(FileDescriptor socket, const std::vector<HttpRoute>& routes,
                               TimePoint now)
    : socket_(std::move(socket)), routes_(routes), deadline_(now + kRequestTime) {}

short HttpConnection::events() const { return state_ == State::reply ? POLLOUT : POLLIN; }

bool HttpConnection::advance(TimePoint now) {
  if (state_ == State::request) {
    if (!receive()) return false;
    if (state_ == State::request) return true;
    // A handler may have taken long.
    now = Clock::now();
    deadline_ = now + kReplyTime;
  }
  if (state_ == State::reply) {
    if (!send()) return false;
    if (state_ == State::reply) return true;
    deadline_ = now + kGoodbyeTime;
  }
  return discard();
}

bool HttpConnection::receive() {
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
  bytes_ = http_answer(bytes_, routes_);
  state_ = State::reply;
  return true;
}

bool HttpConnection::send() {
  const ssize_t count =
      ::send(socket(), bytes_.data() + done_, bytes_.size() - done_, MSG_NOSIGNAL);
  if (count < 0) return not_now();
  done_ += static_cast<size_t>(count);
  if (done_ < bytes_.size()) return true;
  // close() with unread bytes resets the connection, and the client may lose the reply: first its
  // end, then what the client still sends.
  ::shutdown(socket(), SHUT_WR);
  std::string().swap(bytes_);
  done_ = 0;
  state_ = State::goodbye;
  return true;
}

bool HttpConnection::discard() {
  std::array<char, 16384> block;
  while (done_ < kMaxDiscarded) {
    const ssize_t count = ::recv(socket(), block.data(), block.size(), 0);
    if (count < 0) return not_now();
    if (count == 0) return false;
    done_ += static_cast<size_t>(count);
  }
  return false;
}

}  // namespace stoker
