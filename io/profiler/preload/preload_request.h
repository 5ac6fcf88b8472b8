#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// What a process into which the library was loaded while it runs is asked for by another one, which
// writes this into its memory and has one of its threads call stoker_preload_request(). Both are of
// one build. A value.
struct PreloadRequest {
  enum What : int32_t { kAttach = 1, kDetach = 2 };
  enum Result : int32_t {
    kUnanswered = 0,
    kDone = 1,
    kNoRoom = 2,   // there is no such folder, or no room in it
    kCounted = 3,  // it is counted already
  };
  int32_t what = 0;
  int32_t result = kUnanswered;
  int64_t slots = 0;  // that were changed
  char folder[1024] = {};
};

}  // namespace stoker

// `block` is a PreloadRequest of `bytes` bytes. Changes no errno. One thread at a time.
extern "C" __attribute__((visibility("default"))) void stoker_preload_request(void* block,
                                                                              size_t bytes);
