#pragma once

#include <string_view>

namespace stoker {

// The status page: a whole HTML document in UTF-8 that asks for api/status, relative to its own
// address, once a second, and for nothing else. It carries its content security policy; a header
// that forbids more must still allow inline script and style, data: images and connections to
// 'self'. Lives as long as the program. Any thread.
std::string_view status_page();

}  // namespace stoker
