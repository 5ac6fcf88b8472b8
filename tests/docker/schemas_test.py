#!/usr/bin/env python3
"""What others' models say of docker/: the Kubernetes API's schemas of the manifests, Grafana's of the dashboards. Both
come from PyPI, installed by docker/lint.sh, which runs this."""
import copy
import json
import unittest

import kubernetes_validate
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from docker_test import DOCKER
from kubernetes_test import PYTORCH_JOB, VARIANTS

# The oldest one that podFailurePolicy is stable in, and the newest that is known.
VERSIONS = ("1.31", kubernetes_validate.latest_version().rpartition(".")[0])
register_default_plugins()


class Kubernetes(unittest.TestCase):
    def test_the_schemas_take_every_manifest(self):
        for version in VERSIONS:
            for variant, documents in VARIANTS.items():
                self.assertLessEqual({"Job", "PersistentVolumeClaim", "PodMonitor"}, set(documents))
                for kind in set(documents) - {"PodMonitor"}:
                    with self.subTest(version=version, variant=variant, kind=kind):
                        # A version that is not there is replaced by an older one, without a word.
                        self.assertEqual(kubernetes_validate.validate(documents[kind], version, strict=True), version)

    def test_they_take_the_pods_of_the_pytorch_job_as_those_of_a_job(self):
        for replicas in PYTORCH_JOB["spec"]["pytorchReplicaSpecs"].values():
            job = copy.deepcopy(VARIANTS["cpu"]["Job"])
            job["spec"]["template"] = copy.deepcopy(replicas["template"])
            job["spec"]["template"]["spec"]["restartPolicy"] = replicas["restartPolicy"]
            for version in VERSIONS:
                self.assertEqual(kubernetes_validate.validate(job, version, strict=True), version)

    def test_slips_are_found(self):
        pod = ("spec", "template", "spec")
        for part, key, value in (
                (("spec",), "backoffLimits", 3), (("spec",), "backoffLimit", "three"),
                (("spec", "podFailurePolicy", "rules", 0), "onPodCondition", []),
                (pod, "containers", {}), ((*pod, "containers", 0), "arg", []),
                ((*pod, "containers", 0, "livenessProbe"), "periodSeconds", "15s"),
                ((*pod, "containers", 0, "resources"), "limit", {})):
            with self.subTest(key):
                slip = copy.deepcopy(VARIANTS["gpu"]["Job"])
                place = slip
                for name in part:
                    place = place[name]
                place[key] = value
                for version in VERSIONS:
                    with self.assertRaises(kubernetes_validate.ValidationError):
                        kubernetes_validate.validate(slip, version, strict=True)

    def test_a_resource_without_a_schema_is_an_error(self):
        for change in ({"kind": "Jobs"}, {"apiVersion": "batch/v3"}):
            with self.assertRaises(kubernetes_validate.SchemaNotFoundError):
                kubernetes_validate.validate(VARIANTS["cpu"]["Job"] | change, VERSIONS[0], strict=True)


def lost(before, after, at="dashboard"):
    """Where `after` has not what `before` has; what it has besides are defaults."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [path for key, value in before.items()
                for path in (lost(value, after[key], f"{at}.{key}") if key in after else [f"{at}.{key}"])]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [path for i, value in enumerate(before) for path in lost(value, after[i], f"{at}[{i}]")]
    return [] if before == after else [at]


def unknown_to_grafana(dashboard):
    """What its model does not keep, read and written again."""
    return lost(dashboard, json.loads(JSONEncoder().encode(Dashboard.from_json(copy.deepcopy(dashboard)))))


class Dashboards(unittest.TestCase):
    dashboards = {path.stem: json.loads(path.read_text()) for path in (DOCKER / "grafana/dashboards").glob("*.json")}

    def test_grafanas_model_knows_every_key(self):
        self.assertEqual(set(self.dashboards), {"overview", "compare"})
        for name, dashboard in self.dashboards.items():
            self.assertEqual(unknown_to_grafana(dashboard), [], name)

    def test_slips_are_found(self):
        inner = ("panels", -1, "panels", 0)
        for place in ((), ("time",), ("links", 0), ("templating", "list", 1), inner, (*inner, "gridPos"),
                      (*inner, "fieldConfig"), (*inner, "fieldConfig", "defaults"), (*inner, "options"),
                      (*inner, "targets", 0)):
            with self.subTest(place):
                slip = copy.deepcopy(self.dashboards["overview"])
                part = slip
                for name in place:
                    part = part[name]
                part["misspelt"] = 1
                found, = unknown_to_grafana(slip)
                self.assertRegex(found, r"\.misspelt$")


if __name__ == "__main__":
    unittest.main()
