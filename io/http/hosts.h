#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/http/address.h"

namespace stoker {

// Equal but for the case of letters, as names of headers and hosts are compared. Any thread.
bool same_name(std::string_view a, std::string_view b);

// The names under which a server answers. A page of a stranger's can make a browser send requests
// here under the stranger's name (DNS rebinding), and would read the replies. A value; any thread.
struct HttpHosts {
  // Where it listens: that address, and on all addresses any number, for a number is nobody's name.
  HttpAddress listen;
  // Others, without port; case does not matter.
  std::vector<std::string> names;

  // Whether a Host header names this server, with any port: one of the above, or a loopback name.
  bool include(std::string_view host) const;
};

}  // namespace stoker
