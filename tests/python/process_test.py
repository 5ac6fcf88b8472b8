#!/usr/bin/env python3
"""A loader in its process: Ctrl-C, closing, forks, other processes, threads, and the end of the interpreter."""
import multiprocessing
import os
import signal
import threading
import unittest

import stoker
from engine import config, run_python, slow


class ImportTest(unittest.TestCase):

    def test_an_interpreter_without_its_lock_is_refused(self):
        run_python("""
for name in [name for name in sys.modules if name.startswith("stoker")]:
    del sys.modules[name]
sys._is_gil_enabled = lambda: False
try:
    import stoker
except ImportError as error:
    assert "needs Python's global interpreter lock" in str(error), error
else:
    raise AssertionError("it was imported")
""")


class InterruptTest(unittest.TestCase):

    def test_ctrl_c_ends_a_wait_and_the_epoch_goes_on(self):
        for loader in ("sync", "threaded", "prefetched"):
            with self.subTest(loader):
                run_python("""
import os, signal, sys, threading
loader = stoker.Loader(config(storage=slow(60_000)), [f"loader.type={sys.argv[1]}"])
for _ in range(2):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        next(iter(loader))
        sys.exit("a batch came")
    except KeyboardInterrupt:
        pass
assert loader.state_dict()["batch"] == 0
loader.close()
""", loader)

    def test_no_batch_is_lost_by_it(self):
        run_python("""
import os, signal, threading
with stoker.Loader(config()) as loader:
    expected = [batch.digest for batch in loader]
asked = []
class Given(Exception): pass
def handler(*_):
    raise Given
signal.signal(signal.SIGALRM, handler)
# A batch takes 160 ms: an alarm that came as next() returned would have Python drop the batch, and no loader could help.
with stoker.Loader(config(storage=slow(10)), ["loader.workers=1", "loader.type=threaded"]) as loader:
    seen, given = [], 0
    iteration = iter(loader)
    while len(seen) < 18:
        signal.setitimer(signal.ITIMER_REAL, 0.001 if given < 5 else 0)
        try:
            batch = next(iteration)
        except Given:
            given += 1
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        seen.append(batch.digest)
        assert loader.state_dict()["batch"] == len(seen)
    assert seen == expected and given == 5, given
""")

    def test_it_ends_the_opening_of_data_too(self):
        run_python("""
import os, signal, threading
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
tier = slow(1)
tier["data"]["metadata_latency_ms"] = 60_000
try:
    stoker.Loader(config(storage=tier))
    raise SystemExit("it opened")
except KeyboardInterrupt:
    pass
""")

    def test_leaving_the_program_in_the_middle_of_reads_ends_it(self):
        run_python("""
import threading, time
loaders = [stoker.Loader(config(storage=slow(60_000))) for _ in range(8)]
def ask(loader):
    try:
        next(iter(loader))
    except BaseException:
        pass
for loader in loaders:
    threading.Thread(target=ask, args=[loader], daemon=True).start()
time.sleep(0.2)
""")
        run_python("loader = stoker.Loader(config()); iteration = iter(loader); batch = next(iteration)")


FORK = """
import gc, os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a fork with threads
loader = stoker.Loader(config())
iteration = iter(loader)
batch = next(iteration)
child = os.fork()
if child == 0:
    what = sys.argv[1]
    if what == "next":
        try:
            next(iteration)
        except stoker.Error as error:
            assert "before the fork" in str(error), error
            os._exit(7)
    if what == "close":
        loader.close()
        os._exit(7)
    if what == "destroy":
        del loader, iteration, batch
        gc.collect()
        os._exit(7)
    if what == "anew":
        own = stoker.Loader(config())
        count = len(list(own))
        own.close()
        os._exit(7 if count == 18 else 1)
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert len(list(iteration)) == 17
"""


def count_batches(_):
    with stoker.Loader(config()) as loader:
        return sum(1 for _ in loader)


class OtherProcessesTest(unittest.TestCase):

    def test_a_forked_child_raises_and_ends(self):
        for what in ("next", "close", "destroy", "exit", "anew"):
            with self.subTest(what):
                run_python(FORK, what)

    def test_all_ways_to_start_a_process_have_loaders_of_their_own(self):
        with stoker.Loader(config()) as loader:
            iteration = iter(loader)
            next(iteration)
            for method in ("spawn", "forkserver"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    self.assertEqual(pool.map(count_batches, range(2)), [18, 18])
            self.assertEqual(len(list(iteration)), 17)

    def test_pytorchs_workers_run_beside_a_live_loader(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("PyTorch is not here")
        run_python("""
import torch, warnings
warnings.simplefilter("ignore", DeprecationWarning)
loader = stoker.Loader(config())
iteration = iter(loader)
next(iteration)
theirs = torch.utils.data.DataLoader(list(range(40)), batch_size=4, num_workers=2)
assert sum(int(part.sum()) for part in theirs) == 780
assert len(list(iteration)) == 17
""")


class ThreadsTest(unittest.TestCase):

    def test_of_one_iteration_get_each_batch_once(self):
        with stoker.Loader(config()) as loader:
            expected = {batch.digest for batch in loader}
            loader.set_epoch(0)
            iteration, seen, errors = iter(loader), [], []

            def take():
                try:
                    for batch in iteration:
                        seen.append(batch.digest)
                except Exception as error:  # pylint: disable=broad-exception-caught
                    errors.append(error)

            threads = [threading.Thread(target=take) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])
            self.assertEqual(len(seen), 18)
            self.assertEqual(set(seen), expected)

    def test_run_while_one_waits_for_a_batch(self):
        run_python("""
import os, threading
def work():
    total = sum(range(1000))  # needs the interpreter
    os._exit(0 if total == 499500 else 1)
threading.Timer(0.3, work).start()
next(iter(stoker.Loader(config(storage=slow(60_000)))))
""")

    def test_may_make_and_close_loaders(self):
        counts = []
        threads = [threading.Thread(target=lambda: counts.append(count_batches(0))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts, [18] * 3)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")
    unittest.main()
