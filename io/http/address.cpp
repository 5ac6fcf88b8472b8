#include "io/http/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace stoker {
namespace {

bool is_ipv6(const std::string& host) { return host.find(':') != std::string::npos; }

bool read_ipv4(const std::string& host, in_addr& out) {
  return ::inet_pton(AF_INET, host.c_str(), &out) == 1;
}

bool read_ipv6(const std::string& host, in6_addr& out) {
  return ::inet_pton(AF_INET6, host.c_str(), &out) == 1;
}

std::string text_of(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, address, text.data(), text.size());
  return text.data();
}

bool read_port(const std::string& text, uint16_t& out) {
  return parse_number(text, out) && out != 0;
}

bool read_host(const std::string& text, std::string& out) {
  in_addr ipv4{};
  in6_addr ipv6{};
  if (text == "localhost") {
    out = "127.0.0.1";
  } else if (read_ipv4(text, ipv4)) {
    out = text;
  } else if (text.starts_with('[') && text.ends_with(']') &&
             read_ipv6(text.substr(1, text.size() - 2), ipv6)) {
    out = text_of(AF_INET6, &ipv6);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool HttpAddress::numeric() const {
  in_addr ipv4{};
  in6_addr ipv6{};
  return read_ipv4(host, ipv4) || read_ipv6(host, ipv6);
}

bool HttpAddress::loopback() const {
  in_addr ipv4{};
  in6_addr ipv6{};
  if (read_ipv4(host, ipv4)) return ntohl(ipv4.s_addr) >> 24 == 127;
  if (!read_ipv6(host, ipv6)) return false;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) || (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == 127);
}

HttpAddress HttpAddress::destination() const {
  if (host == "0.0.0.0") return {"127.0.0.1", port};
  if (host == "::") return {"::1", port};
  return *this;
}

bool Scalar<HttpAddress>::parse(const std::string& text, HttpAddress& out) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  HttpAddress address;
  if (!read_host(text.substr(0, colon), address.host) ||
      !read_port(text.substr(colon + 1), address.port)) {
    return false;
  }
  out = address;
  return true;
}

std::string Scalar<HttpAddress>::format(const HttpAddress& value) {
  const std::string port = ":" + std::to_string(value.port);
  return is_ipv6(value.host) ? "[" + value.host + "]" + port : value.host + port;
}

socklen_t to_socket(const HttpAddress& address, sockaddr_storage& out) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  const std::string port = std::to_string(address.port);
  if (::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) {
    throw std::invalid_argument("not a numeric address: " + address.host);
  }
  const socklen_t size = found->ai_addrlen;
  std::memcpy(&out, found->ai_addr, size);
  ::freeaddrinfo(found);
  return size;
}

HttpAddress from_socket(const sockaddr_storage& socket) {
  if (socket.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &socket, sizeof ipv6);
    return {text_of(AF_INET6, &ipv6.sin6_addr), ntohs(ipv6.sin6_port)};
  }
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, &socket, sizeof ipv4);
  return {text_of(AF_INET, &ipv4.sin_addr), ntohs(ipv4.sin_port)};
}

namespace {

// "[::1]:9464" -> "::1", "Node3.:80" -> "Node3"
std::string without_port(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return std::string(host);
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool HttpHosts::include(std::string_view header) const {
  const std::string host = without_port(header);
  const HttpAddress asked{host, 0};
  if (same_name(host, "localhost") || asked.loopback() || same_name(host, listen.host)) return true;
  const bool everywhere = listen.host == "0.0.0.0" || listen.host == "::";
  if (everywhere && asked.numeric()) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return same_name(host, name); });
}

}  // namespace stoker
