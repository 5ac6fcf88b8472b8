#!/usr/bin/env python3
"""configs/schema is what `stoker schema` prints, every configuration names its schema and holds to it. With --update:
writes the schemas.
"""
import contextlib
import copy
import json
import pathlib
import sys
import unittest

from stoker import SOURCE, stoker, with_packages

with_packages("jsonschema", yaml="pyyaml")
import jsonschema
import yaml

FOLDER = SOURCE / "configs" / "schema"
KINDS = ("experiment", "sweep")
MARK = "# yaml-language-server: $schema="


def printed(kind):
    return stoker("schema", kind, cwd=SOURCE).stdout


def configurations():
    """{path: text} of all experiments and sweeps; inputs of `stoker simulate` are neither."""
    return {path: path.read_text() for path in sorted((SOURCE / "configs").rglob("*.yaml")) if path.parent.name != "simulate"}


def numbers(value):
    """YAML 1.2 as the program reads it: 1e-3 is a number."""
    if isinstance(value, dict):
        return {str(key): numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [numbers(one) for one in value]
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return float(value)
    return value


class Schema(unittest.TestCase):
    def schema(self, kind):
        return json.loads((FOLDER / f"{kind}.json").read_text())

    def test_the_files_are_what_the_program_prints(self):
        for kind in KINDS:
            self.assertEqual((FOLDER / f"{kind}.json").read_text(), printed(kind), "tests/run update")

    def test_every_configuration_names_its_schema_and_holds_to_it(self):
        for path, text in configurations().items():
            with self.subTest(path=path.name):
                value = numbers(yaml.safe_load(text))
                if "studies" in value:  # names of sweeps, which have no schema
                    continue
                kind = "sweep" if "matrix" in value else "experiment"
                named = text.split("\n", maxsplit=1)[0].partition(MARK)[2]
                self.assertEqual(pathlib.Path(path.parent / named).resolve(), FOLDER / f"{kind}.json")
                jsonschema.validate(value, self.schema(kind))

    def test_slips_are_found(self):
        value = numbers(yaml.safe_load((SOURCE / "configs" / "quickstart.yaml").read_text()))
        for section, key, slip in (("loader", "batch_sise", 8), ("loader", "type", "prefetchd"), ("loader", "batch_size", "many"),
                                   ("training", "epochs", 0), ("dataset", "on_error", {"policy": "ignore"})):
            wrong = copy.deepcopy(value)
            wrong.setdefault(section, {})[key] = slip
            with self.subTest(slip=slip), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(wrong, self.schema("experiment"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        FOLDER.mkdir(exist_ok=True)
        for name in KINDS:
            (FOLDER / f"{name}.json").write_text(printed(name))
    else:
        unittest.main(verbosity=2)
