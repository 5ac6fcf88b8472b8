#pragma once

#include <functional>

namespace stoker {

// Runs `work` while no other thread can load, relocate or unload an object. Passes on what it
// throws. Any thread, nested too; a library's constructor as well, which runs under that lock
// already. What `work` calls must not wait for a thread that loads a library.
void under_loader_lock(const std::function<void()>& work);

}  // namespace stoker
