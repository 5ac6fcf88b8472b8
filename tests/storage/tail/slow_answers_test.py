"""A training from a web server some of whose answers take long: they are asked for again, and change no batch."""
import unittest

from slow_server import Tail, slow_server
from stoker import MINI, StokerTest, configuration, flow


class SlowAnswers(StokerTest):
    CONFIG = configuration(device="{type: emulated, step_ms: 1}",
                           loader="{type: prefetched, batch_size: 16, workers: 4, digest: true}")

    def digests(self, *overrides):
        summary, run = self.train(*overrides)
        self.assertEqual(summary["status"], "completed")
        return (run / "digests.csv").read_text(), summary

    def test_they_are_read_again_and_batches_are_those_of_files(self):
        expected, _ = self.digests("training.epochs=2")
        tail = Tail(ms=1, share=0.01, factor=1500)
        with slow_server(MINI, tail) as url:
            tier = flow(type="http", url=url, index="index", hedge="60ms", ahead="16KiB")
            got, summary = self.digests(f"storage.data={tier}", "training.epochs=2")
        self.assertEqual(got, expected)
        self.assertGreater(tail.slow, 0)
        data = summary["tiers"]["data"]
        self.assertGreater(data["hedge"]["reads"], 0)
        self.assertLessEqual(data["hedge"]["reads"], 0.03 * data["read"]["duration_s"]["count"])
        self.assertGreater(data["hedge"]["won"], 0)
        self.assertGreater(data["hedge"]["bytes"], 0)
        self.assertGreaterEqual(data["most_in_flight"], 4)


if __name__ == "__main__":
    unittest.main()
