#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/core/system/memory.h"

namespace stoker {

// The text of an index that is kept beside data: {"checksum": XXH3-128 of index.dump(), "index":
// {"format": ..., "version": ..., ...}}. It guards against damage, not against malice. Any thread.

// `index` with its format and version, and signed.
std::string signed_json(nlohmann::json index, const std::string& format, int version);
// The index again. Error(ExitCode::data): the text is damaged, or of another format or version, or
// has a number that is not whole.
nlohmann::json parse_signed_json(Bytes text, const std::string& format, int version);

}  // namespace stoker
