#pragma once

#include <cstdio>
#include <memory>

namespace stoker {

struct CloseStdioFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// A stream of the C library that its owner closes.
using StdioFile = std::unique_ptr<std::FILE, CloseStdioFile>;

}  // namespace stoker
