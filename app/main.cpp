#include <cstdio>
#include <cstdlib>

#include "app/cli.h"
#include "io/core/system/child_process.h"

// The process ends without static destructors: those of LibTorch take a tenth of a second, and all
// work of ours is done. A preloaded tool such as Darshan is an exception, because it writes its
// results in one of them.
int main(int argc, char** argv) {
  stoker::die_with_starter();
  const int code = stoker::run_cli(argc, argv);
  if (std::getenv("LD_PRELOAD") != nullptr) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}
