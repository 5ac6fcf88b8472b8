#include <cstdio>
#include <cstdlib>

#include "app/cli.h"

// Not by way of static destructors: LibTorch's take a tenth of a second, and all of ours is done.
int main(int argc, char** argv) {
  const int code = stoker::run_cli(argc, argv);
  std::fflush(nullptr);
  std::_Exit(code);
}
