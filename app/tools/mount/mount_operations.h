#pragma once

#include <string>

#include "app/tools/mount/fuse_session.h"

namespace stoker {

// What a FuseSession of a MountServer does, the session's user being the server.
const fuse_lowlevel_ops& mount_operations();

// The two extended attributes of the root. To read the first drops all pages, and returns when they
// are gone: the number of files. The other is JSON: what was counted until now.
inline constexpr const char* kDropAttribute = "user.stoker.drop";
inline constexpr const char* kStatisticsAttribute = "user.stoker.statistics";

// Answers a request for such an attribute, whose buffer is large enough for any number.
void reply_attribute(fuse_req_t request, const std::string& value);

}  // namespace stoker
