#pragma once

#include <cstdint>
#include <string>

namespace stoker {

// The address of this machine from which packets to `host` leave: that of the interface by which
// it is reached. No packet is sent. Empty: the host is not known, or no route leads to it.
std::string address_towards(const std::string& host, uint16_t port);

// Whether this machine alone can be reached by it.
bool is_loopback(const std::string& address);

}  // namespace stoker
