"""The tiers http and s3 against real servers: nginx, moto and OpenStack Swift.

The storage contract, whole trainings, faults that a proxy makes, and where credentials must not get to."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.parse

from object_servers import Faults, moto, nginx, proxy, swift, swift_missing
from stoker import BUILD, LONG, MINI, StokerTest, configuration, flow, long, posix


def flow_of(options):
    return flow(**options)


RUNNING = contextlib.ExitStack()
SERVERS, FILLED, EXPECTED = {}, set(), []


def setUpModule():
    SERVERS["nginx"] = RUNNING.enter_context(nginx(MINI))
    SERVERS["moto"] = RUNNING.enter_context(moto())
    SERVERS["swift"] = None if swift_missing() or not LONG else RUNNING.enter_context(swift())


def tearDownModule():
    RUNNING.close()


class Servers(StokerTest):
    CONFIG = configuration(device="{type: emulated, step_ms: 1}",
                           loader="{type: prefetched, batch_size: 16, workers: 4, digest: true}",
                           training="{deterministic: true}")

    def setUp(self):
        super().setUp()
        self.nginx, self.moto, self.swift = SERVERS["nginx"], SERVERS["moto"], SERVERS["swift"]

    @property
    def buckets(self):
        return [bucket for bucket in (self.moto, self.swift) if bucket]

    def fill(self, bucket):
        """The mini data set's files as its objects, written by the program's own tier."""
        if bucket.endpoint not in FILLED:
            self.run_copy(bucket)
            FILLED.add(bucket.endpoint)

    def run_copy(self, bucket):
        tiers = {"from": posix(MINI), "to": flow_of(bucket.tier(prefix="mini"))}
        config = self.dir / "copy.yaml"
        text = self.CONFIG.replace(flow(data=posix(MINI)), flow(data=flow(
            type="cached", inner=tiers["from"], **{"in": tiers["to"]})))
        self.assertNotEqual(text, self.CONFIG)
        config.write_text(text)
        self.stoker("dataset", "stage", config, env=bucket.environment)

    def digests(self, tier, *overrides, env=()):
        summary, run = self.train(f"storage.data={flow_of(tier)}", *overrides, env=env)
        self.assertEqual(summary["status"], "completed")
        return (run / "digests.csv").read_text(), run, summary

    def expected(self):
        """The digests of a training from files."""
        if not EXPECTED:
            EXPECTED.append(self.digests({"type": "posix", "root": MINI})[0])
        return EXPECTED[0]


@long
class Contract(Servers):
    def contract(self, server, environment):
        """Runs it for the tier of that server; returns how many tests there were."""
        with tempfile.TemporaryDirectory(prefix="stoker-contract-") as directory:
            done = subprocess.run(
                [BUILD / "tests/storage_test", f"--gtest_filter=all/StorageContract.*/{server}"], capture_output=True,
                text=True, env={**os.environ, "TMPDIR": directory} | environment(directory), check=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return int(re.search(r"(\d+) tests? from 1 test suite ran", done.stdout).group(1))

    def test_of_s3(self):
        for bucket in self.buckets:
            with self.subTest(bucket.endpoint):
                tests = self.contract("s3", lambda _, to=bucket: {"STOKER_TEST_S3": to.endpoint} | to.environment)
                self.assertGreaterEqual(tests, 14)

    def test_of_http(self):
        with contextlib.ExitStack() as stack:
            def environment(directory):
                url = stack.enter_context(nginx("/", directory + "/"))
                return {"STOKER_TEST_NGINX": urllib.parse.urlsplit(url).netloc}
            self.assertGreaterEqual(self.contract("http", environment), 14)


class Training(Servers):
    def test_batches_are_those_of_files(self):
        expected = self.expected()
        tier = {"type": "http", "url": self.nginx, "listing": "json", "in_flight": 3, "part": "64KiB"}
        self.assertEqual(self.digests(tier)[0], expected)
        for bucket in self.buckets:
            with self.subTest(bucket.endpoint):
                self.fill(bucket)
                got, _, _ = self.digests(bucket.tier(prefix="mini"), env=bucket.environment)
                self.assertEqual(got, expected)

    @long
    def test_an_index_says_what_is_there(self):
        expected = self.expected()
        with tempfile.TemporaryDirectory(prefix="stoker-index-") as folder:
            root = pathlib.Path(folder)
            files = [path.relative_to(MINI) for path in sorted(MINI.rglob("*")) if path.is_file()]
            for entry in MINI.iterdir():
                (root / entry.name).symlink_to(entry)
            (root / "sizes.tsv").write_text("".join(f"{(MINI / file).stat().st_size}\t{file}\n" for file in files))
            (root / "keys.txt").write_text("".join(f"{file}\n" for file in files))
            url = self.enterContext(nginx(root))
            for index in ("sizes.tsv", "keys.txt"):
                with self.subTest(index):
                    got, _, _ = self.digests({"type": "http", "url": url, "index": index})
                    self.assertEqual(got, expected)


class Broken(Servers):
    """What a proxy makes go wrong changes no batch; what it makes go wrong for ever is an error."""
    KINDS = ("500", "503", "429", "cut", "drop", "stall")

    @long
    def test_faults_change_no_batch(self):
        expected = self.expected()
        for bucket in (None, self.moto):
            if bucket:
                self.fill(bucket)
            faults = Faults(0.04, self.KINDS)
            url = self.enterContext(proxy(bucket.endpoint if bucket else self.nginx, faults, stall_s=3))
            tier = bucket.tier(url, prefix="mini") if bucket else {"type": "http", "url": url, "listing": "json"}
            with self.subTest(tier=tier["type"]):
                got, run, _ = self.digests(tier | {"timeout": "1s"}, env=bucket.environment if bucket else ())
                self.assertEqual(got, expected)
                self.assertGreater(sum(faults.made.values()), faults.requests / 100, faults.made)
                self.assertIn("requests had to be made again", (run / "summary.json").read_text())
                print(f"{tier['type']}: {faults.requests} requests, faults: {faults.made}")

    @long
    def test_what_stalls_is_read_a_second_time(self):
        expected = self.expected()
        self.fill(self.moto)
        faults = Faults(0, ["stall"])
        url = self.enterContext(proxy(self.moto.endpoint, faults, stall_s=4))
        faults.share = 0.01
        tier = self.moto.tier(url, prefix="mini", hedge="150ms", ahead="16KiB")
        got, _, summary = self.digests(tier, "training.epochs=2", env=self.moto.environment)
        self.assertTrue(got.startswith(expected))
        hedge = summary["tiers"]["data"]["hedge"]
        self.assertGreater(faults.made.get("stall", 0), 0)
        self.assertGreater(hedge["won"], 0)
        print(f"s3: {faults.requests} requests, stalled: {faults.made}, read again: {hedge}")

    def test_a_server_that_stays_broken_is_an_error_when_no_retry_is_left(self):
        url = self.enterContext(proxy(self.nginx, Faults(1, ["503"])))
        done = self.stoker("train", self.config, f"storage.data={flow(type='http', url=url, listing='json', retries=2)}",
                           code=5)
        self.assertIn("the server answered 503 (after 3 attempts; more by the tier's `retries`)", done.stderr)

    @long
    def test_a_changed_object_is_an_error(self):
        bucket = self.moto
        self.fill(bucket)
        faults = Faults(0, ["etag"])
        url = self.enterContext(proxy(bucket.endpoint, faults))
        faults.share = 0.5  # a read ahead that finds a change is made again
        done = self.stoker("train", self.config, f"storage.data={flow_of(bucket.tier(url, prefix='mini'))}", code=None,
                           env=bucket.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("it changed while it was read", done.stderr)

    @long
    def test_a_damaged_upload_is_refused_and_sent_again(self):
        if not self.swift:
            self.skipTest(swift_missing())
        faults = Faults(0.3, ["damage"])
        url = self.enterContext(proxy(self.swift.endpoint, faults))
        bucket = type(self.swift)(url, self.swift.name, *self.swift.environment.values())
        self.run_copy(bucket)
        self.assertGreater(faults.made.get("damage", 0), 10)
        expected = self.expected()
        got, _, _ = self.digests(self.swift.tier(prefix="mini"), env=bucket.environment)
        self.assertEqual(got, expected)


class Secrets(Servers):
    def secret_in(self, secrets, *texts, folders=()):
        for folder in folders:
            for path in pathlib.Path(folder).rglob("*"):
                if path.is_file():
                    texts += (path.read_bytes().decode(errors="replace"),)
        return [word for word in secrets for text in texts if word in text]

    def test_credentials_are_in_no_file_of_a_run_and_no_message(self):
        bucket = self.moto
        self.fill(bucket)
        secrets = list(bucket.environment.values())
        file = self.dir / "credentials"
        file.write_text("[other]\naws_access_key_id = {}\naws_secret_access_key = {}\n".format(*secrets))
        for env, options in ((bucket.environment, {}), ({}, {"credentials": file, "profile": "other"})):
            tier = flow_of(bucket.tier(prefix="mini", **options))
            done = self.stoker("train", self.config, f"storage.data={tier}", "run.trace=true", code=None, env=env)
            self.assertEqual(self.secret_in(secrets, done.stdout, done.stderr, folders=[self.dir / "runs"]), [])
        wrong = {"AWS_ACCESS_KEY_ID": secrets[0], "AWS_SECRET_ACCESS_KEY": "x" + secrets[1]}
        done = self.stoker("train", self.config, f"storage.data={flow_of(bucket.tier(prefix='mini'))}", code=3, env=wrong)
        self.assertIn("SignatureDoesNotMatch", done.stderr)
        self.assertEqual(self.secret_in(secrets, done.stdout, done.stderr, folders=[self.dir / "runs"]), [])

    def test_a_password_in_a_url_is_refused_and_not_repeated(self):
        self.config.write_text(self.CONFIG.replace(posix(MINI), "{type: http, url: 'http://user:hidden@host/'}"))
        done = self.stoker("check", self.config, code=2)
        self.assertIn("without a user or password", done.stderr)
        self.assertNotIn("hidden", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
