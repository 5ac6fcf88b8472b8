#pragma once

namespace stoker {

// From now on this process and those that it starts have mounts of their own, so that what is
// mounted is seen by nobody else and ends with the last of them. Root needs nothing else; others
// (and a root that may not) get a user namespace in which they are who they are. The working folder
// stays. Before other threads are started, once. Error(ExitCode::environment) where the system
// forbids it, with what to do.
void take_own_mounts();

// Once more into the working folder by its path, for something may have been mounted on it or
// above.
void enter_working_folder_again();

}  // namespace stoker
