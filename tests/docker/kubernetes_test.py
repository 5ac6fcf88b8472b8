#!/usr/bin/env python3
"""Facts about docker/kubernetes that need neither a cluster nor kubectl. schemas_test.py asks the API's schemas."""
import copy
import pathlib
import re
import shutil
import tempfile
import unittest

import yaml

from docker_test import DOCKER, VERSION, exit_codes
from fields import slips
from kustomize import Refused, build

FOLDER = DOCKER / "kubernetes"
VARIANTS = {"+".join(components) or "cpu": build(FOLDER, *components)
            for components in ((), ("gpu",), ("ranks",), ("data",), ("data", "gpu"), ("data", "ranks"))}
PYTORCH_JOB = yaml.safe_load((FOLDER / "pytorchjob/pytorchjob.yaml").read_text())
QUANTITY = re.compile(r"\d+(m|[KMGT]i?)?")
# What the API server takes, by the Kubernetes API reference (v1.31 to v1.37): its schemas say `string`.
CHOICES = {
    "spec.completionMode": {"Indexed", "NonIndexed"},
    "spec.podFailurePolicy.rules.action": {"Count", "FailIndex", "FailJob", "Ignore"},
    "spec.podFailurePolicy.rules.onExitCodes.operator": {"In", "NotIn"},
    "spec.podFailurePolicy.rules.onPodConditions.status": {"True", "False", "Unknown"},
    # Of a Job; with a failure policy, not OnFailure either.
    "spec.template.spec.restartPolicy": {"Never"},
    "spec.template.spec.containers.imagePullPolicy": {"Always", "IfNotPresent", "Never"},
    "spec.template.spec.containers.resources.limits": QUANTITY,
    "spec.template.spec.containers.resources.requests": QUANTITY,
    "spec.template.spec.securityContext.fsGroupChangePolicy": {"Always", "OnRootMismatch"},
    "spec.template.spec.securityContext.seccompProfile.type": {"Localhost", "RuntimeDefault", "Unconfined"},
    "spec.template.spec.volumes.emptyDir.sizeLimit": QUANTITY,
    "spec.accessModes": {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"},
    "spec.resources.requests": QUANTITY,
}
DURATION = re.compile(r"(\d+)(ms|s|m|h)")
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
# A part of PodMonitor in the API reference of prometheus-operator, monitoring.coreos.com/v1.
POD_MONITOR = {
    "apiVersion!": ("monitoring.coreos.com/v1",), "kind!": ("PodMonitor",),
    "metadata!": {"name!": str, "namespace": str, "labels": dict, "annotations": dict},
    "spec!": {
        "jobLabel": str, "podTargetLabels": [str], "sampleLimit": int, "selector!": {"matchLabels!": dict},
        "namespaceSelector": {"any": bool, "matchNames": [str]},
        "podMetricsEndpoints!": [{
            "port!": str, "path": re.compile("/.*"), "scheme": ("http", "https"), "interval!": DURATION,
            "scrapeTimeout!": DURATION, "honorLabels": bool, "honorTimestamps": bool, "filterRunning": bool}]}}

# A part of PyTorchJob in the API reference of Kubeflow's training operator, kubeflow.org/v1. A template is a Job's.
REPLICAS = {"replicas!": int, "restartPolicy!": ("Always", "ExitCode", "Never", "OnFailure"), "template!": dict}
PYTORCH_JOB_FIELDS = {
    "apiVersion!": ("kubeflow.org/v1",), "kind!": ("PyTorchJob",),
    "metadata!": {"name!": str, "namespace": str, "labels": dict, "annotations": dict},
    "spec!": {
        "nprocPerNode": str, "pytorchReplicaSpecs!": {"Master": REPLICAS, "Worker!": REPLICAS},
        "runPolicy": {"activeDeadlineSeconds": int, "backoffLimit": int, "suspend": bool, "ttlSecondsAfterFinished": int,
                      "cleanPodPolicy": ("All", "None", "Running")}}}


def leaves(value, path=""):
    """Path, with the numbers of list items left out, and value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    else:
        yield path, value


def choices(document):
    """Path in CHOICES, value, and whether the API server takes it."""
    for path, value in leaves(document):
        for place, allowed in CHOICES.items():
            if path == place or path.startswith(place + "."):
                fits = allowed.fullmatch(value) if isinstance(allowed, re.Pattern) else value in allowed
                yield place, value, bool(fits)


def wrong_choices(document):
    return [f"{place}: {value}" for place, value, fits in choices(document) if not fits]


def seconds(duration):
    number, unit = DURATION.fullmatch(duration).groups()
    return int(number) * SECONDS[unit]


def pod_monitor_slips(monitor):
    found = slips(monitor, POD_MONITOR)
    if not found:
        # The operator refuses the whole resource otherwise.
        found = [f"{endpoint['scrapeTimeout']} is over {endpoint['interval']}"
                 for endpoint in monitor["spec"]["podMetricsEndpoints"]
                 if seconds(endpoint["scrapeTimeout"]) > seconds(endpoint["interval"])]
    return found


class Job(unittest.TestCase):
    job = VARIANTS["cpu"]["Job"]
    pod = job["spec"]["template"]["spec"]

    def test_the_failure_policy_knows_the_exit_codes(self):
        codes = exit_codes()
        disruption, preempted, final = self.job["spec"]["podFailurePolicy"]["rules"]
        self.assertEqual(disruption["onPodConditions"], [{"type": "DisruptionTarget", "status": "True"}])
        self.assertEqual([disruption["action"], preempted["action"], final["action"]],
                         ["Ignore", "Ignore", "FailJob"])
        self.assertEqual(preempted["onExitCodes"]["values"], [codes["sigterm"]])
        self.assertEqual(final["onExitCodes"]["values"],
                         sorted(codes[name] for name in ("config", "environment", "data", "bug")))
        container, = self.pod["containers"]
        self.assertEqual({rule["onExitCodes"]["containerName"] for rule in (preempted, final)}, {container["name"]})

    def test_the_pod_is_hardened(self):
        self.assertTrue(self.pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(self.pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        container, = self.pod["containers"]
        self.assertEqual(container["securityContext"],
                         {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                          "capabilities": {"drop": ["ALL"]}})

    def test_names_agree_across_files(self):
        container, = self.pod["containers"]
        claims = [v["persistentVolumeClaim"]["claimName"] for v in self.pod["volumes"]
                  if "persistentVolumeClaim" in v]
        self.assertEqual(claims, [VARIANTS["cpu"]["PersistentVolumeClaim"]["metadata"]["name"]])
        self.assertEqual({v["name"] for v in self.pod["volumes"]},
                         {m["name"] for m in container["volumeMounts"]})
        monitor = VARIANTS["cpu"]["PodMonitor"]["spec"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(),
                             self.job["spec"]["template"]["metadata"]["labels"].items())
        port, = container["ports"]
        self.assertEqual([e["port"] for e in monitor["podMetricsEndpoints"]], [port["name"]])
        for probe in ("startupProbe", "livenessProbe"):
            self.assertEqual(container[probe]["httpGet"], {"path": "/healthz", "port": port["name"]})

    def test_threads_and_workers_are_left_to_the_quota(self):
        container, = self.pod["containers"]
        self.assertIn("cpu", container["resources"]["limits"])
        self.assertEqual([word for word in container["args"] if re.match("training.threads|loader", word)], [])

    def test_values_are_among_those_that_the_api_server_takes(self):
        met = set()
        for name, documents in VARIANTS.items():
            for kind, document in documents.items():
                self.assertEqual(wrong_choices(document), [], f"{kind}, {name}")
                met |= {place for place, _, _ in choices(document)}
        self.assertEqual(met, set(CHOICES), "these are checked, and these there are")

    def test_a_value_that_the_api_server_refuses_is_found(self):
        slip = copy.deepcopy(self.job)
        slip["spec"]["podFailurePolicy"]["rules"][2]["action"] = "Fail"
        slip["spec"]["template"]["spec"]["restartPolicy"] = "Always"
        slip["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "4 GB"
        self.assertEqual(wrong_choices(slip), [
            "spec.podFailurePolicy.rules.action: Fail", "spec.template.spec.restartPolicy: Always",
            "spec.template.spec.containers.resources.limits: 4 GB"])


def timeout_of(args):
    """Seconds, of `distributed`."""
    return int(re.search(r"distributed=\{timeout: (\d+)s\}", " ".join(args)).group(1))


class Ranks(unittest.TestCase):
    job = VARIANTS["ranks"]["Job"]
    pod = job["spec"]["template"]["spec"]

    def test_the_pods_are_told_how_many_they_are_and_where_they_meet(self):
        container, = self.pod["containers"]
        service = VARIANTS["ranks"]["Service"]
        self.assertEqual({variable["name"]: variable["value"] for variable in container["env"]},
                         {"WORLD_SIZE": str(self.job["spec"]["completions"]),
                          "MASTER_ADDR": f"{self.job['metadata']['name']}-0.{service['metadata']['name']}"})
        self.assertEqual(self.job["spec"]["parallelism"], self.job["spec"]["completions"])
        self.assertEqual(self.pod["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertLessEqual(service["spec"]["selector"].items(),
                             self.job["spec"]["template"]["metadata"]["labels"].items())

    def test_every_rank_has_a_burst_buffer_and_all_share_the_slow_tier(self):
        template = PYTORCH_JOB["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
        for kind, pod in ("Job", self.pod), ("PyTorchJob", template["spec"]):
            with self.subTest(kind):
                container, = pod["containers"]
                mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
                volumes = {volume.pop("name"): volume for volume in copy.deepcopy(pod["volumes"])}
                self.assertEqual(set(mounts), set(volumes))
                self.assertIn("emptyDir", volumes["fast"])
                self.assertIn(f"storage.fast={{type: posix, root: {mounts['fast']}}}", container["args"])
                self.assertRegex(" ".join(container["args"]), "checkpoint=.type: burst_buffer, fast: fast, slow: checkpoints,")
        self.assertEqual(VARIANTS["ranks"]["PersistentVolumeClaim"]["spec"]["accessModes"], ["ReadWriteMany"])

    def test_the_probe_waits_for_longer_than_the_ranks_do_for_each_other(self):
        container, = self.pod["containers"]
        probe = container["startupProbe"]
        self.assertGreater(probe["periodSeconds"] * probe["failureThreshold"], timeout_of(container["args"]))


class Data(unittest.TestCase):
    """Images of one's own."""

    def test_the_claim_is_mounted_where_the_experiment_reads_it_and_the_claim_of_runs_stays(self):
        for name, documents in VARIANTS.items():
            if not name.startswith("data"):
                continue
            with self.subTest(name):
                config = documents["ConfigMap"]
                pod = documents["Job"]["spec"]["template"]["spec"]
                container, = pod["containers"]
                volumes = {volume["name"]: volume for volume in pod["volumes"]}
                mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
                self.assertEqual(set(volumes), set(mounts))
                self.assertEqual(volumes["data"]["persistentVolumeClaim"], {"claimName": "stoker-data", "readOnly": True})
                self.assertEqual(volumes["experiment"]["configMap"], {"name": config["metadata"]["name"]})
                self.assertEqual({mounts[own].get("readOnly") for own in ("data", "experiment")}, {True})
                self.assertEqual(container["args"][:2], ["train", mounts["experiment"]["mountPath"]])
                experiment = yaml.safe_load(config["data"][mounts["experiment"]["subPath"]])
                self.assertEqual(experiment["storage"]["data"]["root"], mounts["data"]["mountPath"])
                self.assertEqual([claim["metadata"]["name"] for kind, claim in documents.items()
                                  if kind == "PersistentVolumeClaim"], ["stoker-runs"])

    def test_the_name_of_the_claim_stands_in_one_place(self):
        places = [(path.name, line) for path in DOCKER.rglob("*.yaml") for line in path.read_text().splitlines()
                  if "stoker-data" in line and not line.startswith("#")]
        self.assertEqual([name for name, _ in places], ["kustomization.yaml"])


class PyTorchJob(unittest.TestCase):
    def test_its_fields_are_the_operators(self):
        self.assertEqual(slips(PYTORCH_JOB, PYTORCH_JOB_FIELDS), [])

    def test_slips_are_found(self):
        for place, key, value, finding in (
                ("spec", "replicaSpecs", {}, "file.spec: unknown key 'replicaSpecs'"),
                ("metadata", "name", 1, "file.metadata.name: 1")):
            slip = copy.deepcopy(PYTORCH_JOB)
            slip[place][key] = value
            self.assertEqual(slips(slip, PYTORCH_JOB_FIELDS), [finding])

    def test_its_ranks_are_alike_and_hardened_as_the_jobs(self):
        master, worker = PYTORCH_JOB["spec"]["pytorchReplicaSpecs"].values()
        self.assertEqual(master["template"], worker["template"])
        self.assertEqual(master["replicas"], 1)
        pod = master["template"]["spec"]
        container, = pod["containers"]
        jobs, = Job.pod["containers"]
        self.assertEqual(container["name"], "pytorch")
        self.assertEqual(pod["securityContext"], Job.pod["securityContext"])
        for key in "image", "securityContext", "resources":
            self.assertEqual(container[key], jobs[key])


class PodMonitor(unittest.TestCase):
    monitor = VARIANTS["cpu"]["PodMonitor"]

    def test_its_fields_are_the_operators(self):
        self.assertEqual(pod_monitor_slips(self.monitor), [])

    def test_slips_are_found(self):
        for change, finding in (
                ({"scrape_timeout": "4s"}, "file.spec.podMetricsEndpoints[0]: unknown key 'scrape_timeout'"),
                ({"port": 9464}, "file.spec.podMetricsEndpoints[0].port: 9464"),
                ({"interval": "5 s"}, "file.spec.podMetricsEndpoints[0].interval: '5 s'"),
                ({"scheme": "ftp"}, "file.spec.podMetricsEndpoints[0].scheme: 'ftp'"),
                ({"scrapeTimeout": "5001ms"}, "5001ms is over 5s")):
            with self.subTest(change):
                slip = copy.deepcopy(self.monitor)
                slip["spec"]["podMetricsEndpoints"][0] |= change
                self.assertEqual(pod_monitor_slips(slip), [finding])
        self.assertEqual(pod_monitor_slips(self.monitor | {"spec": {"podMetricsEndpoints": []}}),
                         ["file.spec: no selector"])


class Kustomization(unittest.TestCase):
    def test_it_names_every_file(self):
        files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
        self.assertEqual(len(files), len(VARIANTS["cpu"]))

    def test_the_component_changes_the_image_the_device_and_the_limits_only(self):
        expected = copy.deepcopy(VARIANTS["cpu"])
        container, = expected["Job"]["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["image"], f"stoker:{VERSION}-cpu")
        container["image"] = f"stoker:{VERSION}-gpu"
        container["args"].append("device={type: cuda}")
        container["resources"]["limits"]["nvidia.com/gpu"] = "1"
        self.assertEqual(VARIANTS["gpu"], expected)

    def refuses(self, file, old, new, finding):
        with self.subTest(new), tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "kubernetes"
            shutil.copytree(FOLDER, folder)
            text = (folder / file).read_text()
            self.assertIn(old, text)
            (folder / file).write_text(text.replace(old, new))
            with self.assertRaisesRegex(Refused, re.escape(finding)):
                build(folder, "gpu", "data")

    def test_slips_are_found(self):
        patches = "gpu/kustomization.yaml"
        self.refuses("kustomization.yaml", "resources:", "resource:", "unknown key 'resource'")
        self.refuses(patches, "patches:", "patch:", "unknown key 'patch'")
        self.refuses(patches, "name: stoker}", "name: stocker}", "0 resources are")
        self.refuses(patches, "op: replace", "op: swap", "'swap'")
        self.refuses(patches, "0/image", "0/imag", "replace /spec/template/spec/containers/0/imag: there is no such")
        self.refuses(patches, "0/args/-", "1/args/-", "add /spec/template/spec/containers/1/args/-: there is no such")
        self.refuses(patches, "limits/nvidia", "limit/nvidia", "there is no such place")
        data = "data/kustomization.yaml"
        self.refuses(data, "generatorOptions: {disableNameSuffixHash: true}\n", "", "would end in a hash")
        self.refuses(data, "files: [experiment.yaml]", "file: [experiment.yaml]", "unknown key 'file'")


if __name__ == "__main__":
    unittest.main()
