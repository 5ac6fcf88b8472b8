#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/http/address.h"

namespace stoker {

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
