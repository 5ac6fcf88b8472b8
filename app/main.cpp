#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app/cli.h"
#include "io/core/system/child_process.h"
#include "io/core/system/standard_streams.h"

// What has to hold before the constructors of all libraries run, and before LibTorch is loaded,
// which takes a fifth of a second: what they open is no standard stream, and a SIGUSR2 waits until
// a training takes it (take_session_signal), instead of ending the process.
static void begin() {
  stoker::open_standard_streams();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}
[[gnu::section(".preinit_array"), gnu::used]] static void (*g_begin)() = begin;

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
