#pragma once

#include <functional>
#include <string>

namespace stoker {

// How a component tells the user something that is no error ("ignored 1 file that is no image").
// Called from the thread that constructs or starts the component, never from a worker; only a tier
// that goes on with less than it was asked for calls it where it finds that out, on any thread.
using Notify = std::function<void(const std::string&)>;

}  // namespace stoker
