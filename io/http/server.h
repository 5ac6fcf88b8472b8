#pragma once

#include <thread>

#include "io/core/system/file.h"
#include "io/http/address.h"
#include "io/http/exchange.h"

namespace stoker {

// Which thread calls the handlers of a server: its own, one request after the other, which costs a
// training nothing; or a thread for each request, so that one whose answer takes long holds up no
// other.
enum class Handling { in_turn, at_once };

// A small HTTP server for scrapers and a browser, made to be harmless to the program around it: one
// thread, of low priority, serves all connections, so that no client waits for another one that is
// slow. At most 64 connections (a new one replaces the oldest), 16 KiB for a request, 5 s to
// send it and 5 s to read the reply.
class WebServer {
 public:
  // Listens when it returns. `names` are those of HttpHosts. Error(ExitCode::environment), which
  // names the address, where it cannot listen there; a port that is taken is replaced by a free one
  // if other_port_if_taken.
  WebServer(const HttpAddress& address, bool other_port_if_taken, HttpRoutes routes,
            std::vector<std::string> names = {}, Handling handling = Handling::in_turn);
  // Waits for handlers that run, after those with a thread of their own were interrupted
  // (threads.h), and at most half a second for replies under way.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  // With the port that is really used. Any thread.
  const HttpAddress& address() const { return address_; }

 private:
  FileDescriptor listener_;
  FileDescriptor stop_;
  FileDescriptor made_;  // with Handling::at_once
  HttpAddress address_;
  // Used by the thread, so it is joined first.
  const HttpSite site_;
  std::jthread thread_;
};

}  // namespace stoker
