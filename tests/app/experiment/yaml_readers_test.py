"""The resolved configuration as other readers of YAML take it: PyYAML, which reads YAML 1.1."""
import unittest

import yaml

from stoker import LONG, MINI, StokerTest, configuration, flow, posix

NAMES = ("no", "On", "1_000", "0x1f", "1:30", "2026-01-02", "null", "~", "1e5", "012")


class YamlReaders(StokerTest):
    CONFIG = configuration(optimizer="{type: sgd, lr: 3.0e-5, weight_decay: 0}")

    def resolved(self, *overrides):
        text = self.stoker("check", self.config, *overrides).stdout
        self.config.write_text(text)
        self.assertEqual(self.stoker("check", self.config).stdout, text)
        return yaml.safe_load(text)

    def test_numbers_are_numbers(self):
        read = self.resolved("optimizer.lr=3e-05", "optimizer.weight_decay=1e-10")
        self.assertEqual((read["optimizer"]["lr"], read["optimizer"]["weight_decay"]), (3e-5, 1e-10))
        self.assertIs(read["loader"]["digest"], False)

    def test_texts_are_texts(self):
        tiers = {name: posix(f'"{name}"') for name in NAMES if name not in ("null", "~")}
        storage = flow(data=posix(MINI), **{f'"{name}"': tier for name, tier in tiers.items()})
        for name in NAMES if LONG else NAMES[::3]:
            read = self.resolved(f'run.name="{name}"', f"storage={storage}")
            self.assertEqual(read["run"]["name"], name)
            self.assertEqual({tier: read["storage"][tier]["root"] for tier in tiers}, {tier: tier for tier in tiers})


if __name__ == "__main__":
    unittest.main(verbosity=2)
