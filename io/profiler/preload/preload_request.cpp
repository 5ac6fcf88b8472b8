#include "io/profiler/preload/preload_request.h"

#include <cerrno>

#include "io/profiler/preload/own_slots.h"
#include "io/profiler/preload/preload.h"
#include "io/profiler/preload/process_log.h"

void stoker_preload_request(void* block, size_t bytes) {
  using stoker::PreloadRequest;
  auto& request = *static_cast<PreloadRequest*>(block);
  if (bytes != sizeof request) return;
  const int error = errno;
  size_t count = 0;
  const stoker::WrappedFunction* const functions = stoker_preload_functions(&count);
  if (request.what == PreloadRequest::kAttach) {
    // Who asked before was killed.
    if (stoker::attached_by_request() && !stoker::preload_folder_is_in_use())
      stoker::end_counting();
    if (stoker::preload_counts()) {
      request.result = PreloadRequest::kCounted;
    } else if (stoker_preload_attach(request.folder) != 0) {
      request.result = PreloadRequest::kNoRoom;
    } else {
      const auto* const all = stoker_preload_functions(&count);
      request.slots = stoker::put_wrappers_in(all, count);
      request.result = PreloadRequest::kDone;
    }
  } else {
    // A library that was preloaded has no slots of others, and goes on counting.
    request.slots = stoker::put_originals_back(functions, count);
    if (stoker::attached_by_request()) stoker::end_counting();
    request.result = PreloadRequest::kDone;
  }
  errno = error;
}
