#include "io/profiler/attach/attachment.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/profiler/attach/dlsym_trampoline.h"
#include "io/profiler/attach/process_slots.h"

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};

// Set before a slot changes, and until all are as they were.
std::atomic<bool> attached{false};
// This process is a forked child, and its slots came to it with wrappers in them: there they stay,
// for the threads and locks that belong to them are the parent's.
std::atomic<bool> inherited{false};

// Its caller is a call of dlsym, which cannot fail for this.
void before_dlsym() {
  const int error = errno;
  try {
    Attachment::instance().cover();
  } catch (...) {
    // The thread that looks again meets it as well, and tells it.
  }
  errno = error;
}

// The object that holds the wrappers stays, for their addresses may have been taken.
void keep_loaded(std::span<const WrappedFunction> functions) {
  const void* kept = nullptr;
  for (const WrappedFunction& function : functions) {
    Dl_info object{};
    if (function.instances.empty() || dladdr(function.instances[0].wrapper, &object) == 0) continue;
    if (object.dli_fbase == std::exchange(kept, object.dli_fbase)) continue;
    // Null where it is the program itself. The handle is kept for ever.
    dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace

Attachment& Attachment::instance() {
  // NOLINTNEXTLINE(bugprone-unused-return-value): it is never destroyed.
  static Attachment& only = *std::unique_ptr<Attachment>(new Attachment).release();
  return only;
}

Attachment::Attachment() : slots_(std::make_unique<ProcessSlots>()) {
  pthread_atfork(nullptr, nullptr, [] { inherited = inherited || attached; });
}

Attachment::~Attachment() = default;

void Attachment::attach(std::span<const WrappedFunction> functions, const std::string& library) {
  if (inherited) return;
  const std::lock_guard changing(changing_);
  if (looker_.joinable()) {
    throw Error(ExitCode::config,
                "another profile of this process is open already, and there can be one at a time: "
                "end it first");
  }
  std::vector<WrappedFunction> all(functions.begin(), functions.end());
  all.push_back(dlsym_before(&before_dlsym));
  keep_loaded(all);
  attached = true;
  try {
    slots_->put_in(all, library);
    stopping_ = false;
    looker_ = std::thread([this] { look_again(); });
  } catch (...) {
    slots_->put_back();
    attached = false;
    throw;
  }
}

void Attachment::detach() {
  if (inherited) return;
  const std::lock_guard changing(changing_);
  if (!looker_.joinable()) return;
  stop_looking();
  slots_->put_back();
  attached = false;
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) {
    std::rethrow_exception(failure);
  }
}

void Attachment::cover() {
  if (!inherited) slots_->cover_new();
}

AttachFigures Attachment::figures() const { return slots_->figures(); }

void Attachment::stop_looking() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  looker_.join();
}

void Attachment::look_again() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLookAgain, [this] { return stopping_; })) {
    lock.unlock();
    try {
      slots_->look_again();
    } catch (...) {
      failure_ = std::current_exception();
    }
    lock.lock();
  }
}

}  // namespace stoker
