#pragma once

#include <string>
#include <vector>

#include "io/core/file.h"
#include "io/metrics/clock.h"
#include "io/sinks/http_exchange.h"

namespace stoker {

// One connection of WebServer: a request, its reply, the end. Never blocks. Owned and used by the
// server's thread.
class HttpConnection {
 public:
  // `routes` outlives it.
  HttpConnection(FileDescriptor socket, const std::vector<HttpRoute>& routes, TimePoint now);

  int socket() const { return socket_.get(); }
  // What to wait for: POLLIN or POLLOUT.
  short events() const;
  // When it is to be closed, whatever it does.
  TimePoint deadline() const { return deadline_; }
  bool replying() const { return state_ == State::reply; }
  // After poll() reported its socket. False: it is over.
  bool advance(TimePoint now);

 private:
  enum class State { request, reply, goodbye };

  bool receive();
  bool send();
  bool discard();

  FileDescriptor socket_;
  const std::vector<HttpRoute>& routes_;
  State state_ = State::request;
  TimePoint deadline_;
  std::string bytes_;  // of the request, then of the reply
  size_t done_ = 0;    // bytes sent, then bytes discarded
};

}  // namespace stoker
