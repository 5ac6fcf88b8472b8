#pragma once

#include <functional>
#include <string>

namespace stoker {

// How a component tells the user something that is not an error ("ignored 1 file that is no
// image"). One call is one line of the log.
//
// Called from the thread that constructs or starts the component, never from a worker. Exception: a
// tier that has to go on with less than it was asked for says so when it finds out, on any thread;
// so what is passed must be safe to call from any thread, and must outlive the component.
using Notify = std::function<void(const std::string&)>;

}  // namespace stoker
