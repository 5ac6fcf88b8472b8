#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>

#include "io/core/system/file.h"
#include "io/http/address.h"

namespace stoker {

// A client that may send anything. Waits two minutes at most: a test fails, and does not hang.
class RawClient {
 public:
  explicit RawClient(const HttpAddress& address) {
    sockaddr_storage where{};
    const socklen_t size = to_socket(address, where);
    socket_ = FileDescriptor(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{120, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&where), size) != 0) {
      throw std::runtime_error("no connection to " + Scalar<HttpAddress>::format(address));
    }
  }

  // False: the server has closed.
  bool send(const std::string& bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void finish_sending() { ::shutdown(socket_.get(), SHUT_WR); }
  // Up to `limit` bytes; less where the server ends or resets the connection.
  std::string receive(size_t limit = std::string::npos) {
    std::string all;
    char block[65536];
    while (all.size() < limit) {
      const ssize_t count =
          ::recv(socket_.get(), block, std::min(limit - all.size(), sizeof block), 0);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        throw std::runtime_error("the server neither answers nor closes");
      }
      if (count <= 0) break;
      all.append(block, static_cast<size_t>(count));
    }
    return all;
  }
  // The connection ends with a reset.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_ = FileDescriptor();
  }

 private:
  FileDescriptor socket_;
};

// What the server says to `request`.
inline std::string exchange(const HttpAddress& address, const std::string& request) {
  RawClient client(address);
  client.send(request);
  return client.receive();
}

}  // namespace stoker
