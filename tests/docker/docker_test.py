#!/usr/bin/env python3
"""Facts about docker/ that need no container. The program, where it is built, is asked whether it takes the commands
that the files give it."""
import functools
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

try:
    import yaml
except ModuleNotFoundError:
    sys.exit("FAILED: PyYAML is not here: install Debian's package python3-yaml")

from kustomize import build
from stoker import MINI, STOKER, free_port, read_summary, stoker
from stoker import SOURCE as ROOT

DOCKER = ROOT / "docker"
EXPERIMENT = DOCKER / "kubernetes/data/experiment.yaml"
VERSION = re.search(r"project\(stoker VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def read(name):
    return yaml.safe_load((DOCKER / name).read_text())


def filled_in(text, **variables):
    """${NAME:-default}, as compose does it."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: variables.get(found[1], found[2]), text)


def exit_codes():
    """name to number, as io/core/error.h has them."""
    text = (ROOT / "io/core/error.h").read_text()
    body = re.search(r"enum class ExitCode : int \{(.*?)\};", text, re.DOTALL).group(1)
    return {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", body)}


def sbatch_commands():
    """The arguments of `stoker train` in each batch script, with the variables given values."""
    for script in sorted((DOCKER / "slurm").glob("*.sbatch")):
        text = script.read_text().replace("\\\n", " ")
        line = re.search(r'^exec .*? train "\$@" (.*)$', text, re.MULTILINE).group(1)
        line = line.replace("$runs", "/runs")
        words = re.findall(r'(?:[^\s"]|"[^"]*")+', line)
        yield script.name, ["train", "configs/quickstart.yaml"] + [w.replace('"', "") for w in words]


class Dockerfile(unittest.TestCase):
    text = (DOCKER / "Dockerfile").read_text()

    def test_versions_are_the_projects(self):
        self.assertEqual(set(re.findall(r"^ARG VERSION=(.*)$", self.text, re.MULTILINE)), {VERSION})

    def test_both_runtimes_come_from_the_one_that_runs_without_root(self):
        runtime = self.text.split(" AS runtime\n")[1].split("\nFROM ")[0]
        for line in ("USER 10001:10001", "STOPSIGNAL SIGTERM", 'ENTRYPOINT ["stoker"]',
                     'CMD ["stoker", "healthcheck"]', 'VOLUME ["/runs"]'):
            self.assertIn(line, runtime)
        for target in ("runtime-cpu", "runtime-gpu"):
            self.assertIn(f"FROM runtime AS {target}\n", self.text)
            stage = self.text.split(f" AS {target}\n")[1].split("\nFROM ")[0]
            self.assertNotRegex(stage, r"(?m)^(USER|ENTRYPOINT|HEALTHCHECK) ")
            self.assertIn("org.opencontainers.image.revision", stage)

    def test_every_copied_path_is_in_the_context(self):
        allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines()
                   if line.startswith("!")}
        for line in re.findall(r"^COPY (?!--from)(.*)$", self.text, re.MULTILINE):
            for path in line.split()[:-1]:
                self.assertTrue((ROOT / path).exists(), path)
                self.assertTrue(path in allowed or path.split("/")[0] in allowed, path)


class Compose(unittest.TestCase):
    services = read("compose.yaml")["services"]

    def test_images_have_versions(self):
        for name, service in self.services.items():
            self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+", name)
            if service["image"].startswith("stoker:"):
                self.assertTrue(service["image"].startswith(f"stoker:{VERSION}-"), name)

    def test_everything_is_published_on_loopback_only(self):
        for name, service in self.services.items():
            self.assertTrue(service["ports"], name)
            for port in service["ports"]:
                self.assertRegex(port, r"^127\.0\.0\.1:\d+:\d+$", name)

    def test_services_are_hardened(self):
        for name, service in self.services.items():
            self.assertTrue(service["read_only"], name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertNotIn("privileged", service, name)
            self.assertNotIn("network_mode", service, name)
            exporter = name == "dcgm-exporter"
            self.assertEqual("cap_add" in service, exporter, name)
            self.assertEqual(service["security_opt"],
                             [f"no-new-privileges:{'false' if exporter else 'true'}"], name)

    def test_stopping_takes_longer_than_the_grace_of_checkpoints(self):
        text = (ROOT / "io/checkpoint/checkpoint_options.h").read_text()
        grace = float(re.search(r"grace_seconds = (\d+)", text).group(1))
        for name in ("stoker", "stoker-gpu"):
            self.assertGreater(float(self.services[name]["stop_grace_period"].rstrip("s")), grace)
        job = read("kubernetes/job.yaml")["spec"]["template"]["spec"]
        self.assertGreater(job["terminationGracePeriodSeconds"], grace)
        for script in (DOCKER / "slurm").glob("*.sbatch"):
            before = int(re.search(r"#SBATCH --signal=B:TERM@(\d+)", script.read_text()).group(1))
            self.assertGreater(before, 2 * grace, script.name)

    def test_the_gpu_is_asked_for_in_the_profile_only(self):
        for name, service in self.services.items():
            gpu = name in ("stoker-gpu", "dcgm-exporter")
            self.assertEqual(service.get("profiles"), ["gpu"] if gpu else None, name)
            self.assertEqual("deploy" in service, gpu, name)

    def test_prometheus_scrapes_what_runs(self):
        jobs = {job["job_name"]: job for job in read("prometheus/prometheus.yml")["scrape_configs"]}
        self.assertEqual(jobs["stoker"]["static_configs"], [{"targets": ["stoker:9464"]}])
        self.assertIn('listen: "0.0.0.0:9464"', self.services["stoker"]["command"][-1])
        for target in self.services.values():
            for mount in target.get("volumes", []):
                if isinstance(mount, str) and mount.startswith("./"):
                    self.assertTrue(mount.endswith(":ro"), mount)
                    self.assertTrue((DOCKER / mount.split(":")[0]).is_dir(), mount)


    def test_images_and_a_configuration_of_ones_own_take_the_place_of_those_that_ship(self):
        services = self.services | ComposeRanks.services
        for name in ("stoker", "stoker-gpu", "rank-0", "rank-1"):
            runs, *fast, data, experiment = services[name]["volumes"]
            self.assertEqual([runs, *fast], ["runs:/runs"] + [f"fast-{name[-1]}:/fast"] * name.startswith("rank"))
            for mount, ships, variable, target in ((data, MINI, "STOKER_DATA", "/data"),
                                                   (experiment, EXPERIMENT, "STOKER_CONFIG", "/experiment.yaml")):
                self.assertEqual(mount, {"type": "bind", "source": mount["source"], "target": target, "read_only": True})
                self.assertEqual((DOCKER / filled_in(mount["source"])).resolve(), ships)
                self.assertEqual(filled_in(mount["source"], **{variable: "/mine"}), "/mine")
            self.assertEqual(services[name]["command"][:2], ["train", "/experiment.yaml"])
        self.assertEqual(read(EXPERIMENT)["storage"]["data"]["root"], "/data")
        for variable in ("STOKER_DATA", "STOKER_CONFIG", "STOKER_RUN"):
            self.assertRegex((DOCKER / "README.md").read_text(), f"(?m)^    .*{variable}=")


class ComposeRanks(unittest.TestCase):
    file = read("compose.ranks.yaml")
    services = file["services"]

    def test_the_ranks_are_all_there_and_meet_at_the_first(self):
        ranks = [service["environment"] for service in self.services.values()]
        self.assertEqual([rank["RANK"] for rank in ranks], [str(i) for i in range(len(ranks))])
        self.assertEqual({rank["WORLD_SIZE"] for rank in ranks}, {str(len(ranks))})
        self.assertEqual({rank["MASTER_ADDR"] for rank in ranks}, {next(iter(self.services))})

    def test_each_has_a_fast_volume_of_its_own(self):
        volumes = [service["volumes"] for service in self.services.values()]
        self.assertEqual([both[:2] for both in volumes], [["runs:/runs", f"fast-{i}:/fast"] for i in range(len(volumes))])
        self.assertEqual(set(self.file["volumes"]), {each.split(":")[0] for both in volumes for each in both[:2]})

    def test_they_are_hardened_and_reach_nothing_but_each_other(self):
        for service in self.services.values():
            self.assertTrue(service["read_only"])
            self.assertEqual(service["cap_drop"], ["ALL"])
            self.assertEqual(service["image"], f"stoker:{VERSION}-cpu")
            self.assertNotIn("ports", service)
        self.assertEqual(self.file["networks"], {"ranks": {"internal": True}})


class Slurm(unittest.TestCase):
    def test_jobs_are_signalled_and_queued_again(self):
        for script in sorted((DOCKER / "slurm").glob("*.sbatch")):
            text = script.read_text()
            for option in ("--requeue", "--open-mode=append", "--signal=B:TERM@"):
                self.assertIn(f"#SBATCH {option}", text, script.name)
            self.assertRegex(text, r'(?m)^exec "\$here/launch\.sh" ', script.name)
        self.assertIn(f"= {exit_codes()['sigterm']} ]", (DOCKER / "slurm/launch.sh").read_text())

    def test_apptainers_image_is_this_version(self):
        self.assertIn(f"From: stoker:{VERSION}-cpu\n", (DOCKER / "slurm/apptainer.def").read_text())


@unittest.skipUnless(os.path.exists(STOKER), "docker/lint.sh needs no build")
class Commands(unittest.TestCase):
    """The program accepts, as `stoker check`, every training that the files start."""

    def accepts(self, where, command):
        self.assertEqual(command[0], "train", where)
        stoker("check", *(str(EXPERIMENT) if word == "/experiment.yaml" else word for word in command[1:]), cwd=ROOT)

    def test_compose(self):
        for name in ("stoker", "stoker-gpu"):
            command = [filled_in(word) for word in Compose.services[name]["command"]]
            self.assertIn("run.name=stack", command)
            self.accepts(name, command)

    def test_compose_trains_on_images_of_ones_own(self):
        with tempfile.TemporaryDirectory(prefix="stoker-own-") as name:
            folder = pathlib.Path(name)
            for kind, number in ("cats", 12), ("dogs", 9):  # fewer of each than a batch has
                (folder / "data" / kind).mkdir(parents=True)
                for image in sorted(MINI.glob("*/*.jpg"))[:number]:
                    shutil.copy(image, folder / "data" / kind)
            text = EXPERIMENT.read_text().replace("root: /data", f"root: {folder / 'data'}")
            (folder / "mine.yaml").write_text(text)
            places = (("/experiment.yaml", str(folder / "mine.yaml")), ("/runs", f"{folder}/runs"), ("0.0.0.0:9464", f"127.0.0.1:{free_port()}"))
            words = [functools.reduce(lambda text, place: text.replace(*place), places, filled_in(word, STOKER_RUN="own"))
                     for word in Compose.services["stoker"]["command"]]
            stoker(*words, "model={type: linear}", "training.max_steps=2", "loader.batch_size=8", cwd=folder)
            summary = read_summary((folder / "runs/latest").resolve())
            self.assertEqual((summary["status"], summary["steps"]), ("completed", 2))

    def test_compose_of_ranks(self):
        for name, service in ComposeRanks.services.items():
            self.accepts(name, [filled_in(word) for word in service["command"]])

    def test_pytorch_job(self):
        for name, replicas in read("kubernetes/pytorchjob/pytorchjob.yaml")["spec"]["pytorchReplicaSpecs"].items():
            self.accepts(name, replicas["template"]["spec"]["containers"][0]["args"])

    def test_kubernetes(self):
        for components in ((), ("gpu",), ("ranks",), ("gpu", "ranks"), ("data",), ("data", "gpu"), ("data", "ranks")):
            job = build(DOCKER / "kubernetes", *components)["Job"]
            self.accepts(f"job.yaml {components}", job["spec"]["template"]["spec"]["containers"][0]["args"])

    def test_slurm(self):
        names = []
        for name, command in sbatch_commands():
            self.accepts(name, command)
            names.append(name)
        self.assertEqual(names, ["apptainer.sbatch", "bare.sbatch", "pyxis.sbatch"])


if __name__ == "__main__":
    unittest.main()
