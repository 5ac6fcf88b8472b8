#pragma once

namespace stoker {

// The lowest priority at the processor, and at disks whose scheduler knows classes, for the calling
// thread and for those that it starts from now on. For good; any thread. Where the system refuses,
// nothing happens.
void yield_to_all_others();

}  // namespace stoker
