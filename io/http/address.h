#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/config/config.h"

namespace stoker {

// A numeric address and a port, as a server listens on it. Values only; any thread.
struct HttpAddress {
  std::string host = "127.0.0.1";  // IPv4 or IPv6, without brackets
  uint16_t port = 0;               // 0: the system chooses one (never from a configuration)

  // The host is an IPv4 or IPv6 address, and no name.
  bool numeric() const;
  // Only processes of this machine reach it.
  bool loopback() const;
  // Where a client of this machine finds a server that listens here: 0.0.0.0 is no destination.
  HttpAddress destination() const;
};

// "127.0.0.1:9464", "[::1]:9464"; "localhost:9464" is 127.0.0.1.
template <>
struct Scalar<HttpAddress> {
  // False: the text is no such address, or the port is 0. `out` is left as it was.
  static bool parse(const std::string& text, HttpAddress& out);
  // The inverse of parse(): IPv6 in brackets.
  static std::string format(const HttpAddress& value);
  static constexpr const char* expected =
      "an address and a port such as 127.0.0.1:9464, [::1]:9464 or 0.0.0.0:9464";
};

// Writes the address as bind() and connect() take it, and returns its length.
// std::invalid_argument where the host is no numeric address. The second one reads what
// getsockname() wrote.
socklen_t to_socket(const HttpAddress& address, sockaddr_storage& out);
HttpAddress from_socket(const sockaddr_storage& socket);

// Whether two names are equal but for the case of letters, as names of headers and hosts are
// compared. Any thread.
bool same_name(std::string_view a, std::string_view b);

// The names under which a server answers. A stranger's page can make a browser send requests here
// under the stranger's name (DNS rebinding), and would read the replies. A value; any thread.
struct HttpHosts {
  // Where it listens. It answers to that address; where it listens on all addresses, to any that is
  // a number, for a number is nobody's name.
  HttpAddress listen;
  // Further names, without port; case does not matter.
  std::vector<std::string> names;

  // Whether a Host header names this server, with any port: by one of the above or a loopback name.
  bool include(std::string_view host) const;
};

}  // namespace stoker
