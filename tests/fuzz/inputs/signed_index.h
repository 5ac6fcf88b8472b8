#pragma once

#include <string>
#include <string_view>

namespace stoker::fuzz {

// The text as an index that is kept beside data (io/dataset/signed_index.h), with a checksum that
// agrees; the text itself where it is no JSON.
std::string signed_index(std::string_view inner);

}  // namespace stoker::fuzz
