#include <cstdio>
#include <cstdlib>

#include "app/cli.h"
#include "io/core/system/child_process.h"

// Not by way of static destructors: LibTorch's take a tenth of a second, and all of ours is done.
// But a tool that was preloaded, such as Darshan, writes in one of them what it saw.
int main(int argc, char** argv) {
  stoker::die_with_starter();
  const int code = stoker::run_cli(argc, argv);
  if (std::getenv("LD_PRELOAD") != nullptr) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}
