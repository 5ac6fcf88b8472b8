#include "io/http/hosts.h"

#include <strings.h>

#include <algorithm>

namespace stoker {
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
