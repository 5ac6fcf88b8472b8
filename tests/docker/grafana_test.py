#!/usr/bin/env python3
"""Facts about Grafana's provisioning, which passes over keys that it does not know. The dashboards themselves are
dashboards_test.py's."""
import copy
import json
import re
import unittest

from docker_test import DOCKER, read
from fields import slips

GRAFANA = DOCKER / "grafana"
# Keys and types of "Provision Grafana" in Grafana's documentation (docs/sources/administration/provisioning), as far
# as they make sense here; jsonData: those of Prometheus. `prune` needs Grafana 11.1.
DATA_SOURCES = {
    "apiVersion!": (1,), "prune": bool, "deleteDatasources": [{"name!": str, "orgId": int}],
    "datasources!": [{
        "name!": str, "type!": ("prometheus",), "access!": ("proxy", "direct"), "url!": re.compile("https?://.+"),
        "uid!": re.compile("[a-zA-Z0-9_-]{1,40}"), "orgId": int, "isDefault": bool, "version": int, "editable": bool,
        "basicAuth": bool, "basicAuthUser": str, "withCredentials": bool,
        "jsonData": {"httpMethod": ("GET", "POST"), "timeInterval": re.compile(r"\d+(ms|s|m)"),
                     "prometheusType": ("Prometheus", "Cortex", "Mimir", "Thanos"), "prometheusVersion": str,
                     "manageAlerts": bool, "disableRecordingRules": bool}}]}
PROVIDERS = {
    "apiVersion!": (1,),
    "providers!": [{
        "name!": str, "type": ("file",), "orgId": int, "folder": str, "folderUid": str, "disableDeletion": bool,
        "updateIntervalSeconds": int, "allowUiUpdates": bool,
        "options!": {"path!": re.compile("/.+"), "foldersFromFilesStructure": bool}}]}
SOURCES_FILE, PROVIDERS_FILE = "provisioning/datasources/prometheus.yaml", "provisioning/dashboards/stoker.yaml"


def data_sources(value):
    """All that a dashboard refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("datasource"), dict):
            yield value["datasource"]
        for inner in value.values():
            yield from data_sources(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from data_sources(inner)


class Provisioning(unittest.TestCase):
    sources = read(f"grafana/{SOURCES_FILE}")
    providers = read(f"grafana/{PROVIDERS_FILE}")
    services = read("compose.yaml")["services"]

    def test_keys_and_types_are_grafanas(self):
        self.assertEqual(slips(self.sources, DATA_SOURCES), [])
        self.assertEqual(slips(self.providers, PROVIDERS), [])
        files = {str(path.relative_to(GRAFANA)) for path in (GRAFANA / "provisioning").rglob("*") if path.is_file()}
        self.assertEqual(files, {SOURCES_FILE, PROVIDERS_FILE}, "these are checked, and these there are")

    def test_no_value_is_taken_for_a_variable(self):
        for file in (SOURCES_FILE, PROVIDERS_FILE):
            self.assertNotIn("$", (GRAFANA / file).read_text(), file)

    def test_slips_are_found(self):
        def sources(**changes):
            slip = copy.deepcopy(self.sources)
            slip["datasources"][0] |= changes
            return slips(slip, DATA_SOURCES)

        def providers(**changes):
            slip = copy.deepcopy(self.providers)
            slip["providers"][0] |= changes
            return slips(slip, PROVIDERS)

        source, provider = "file.datasources[0]", "file.providers[0]"
        for found, finding in (
                (sources(editabel=False), f"{source}: unknown key 'editabel'"),
                (sources(access="proxy,"), f"{source}.access: 'proxy,'"),
                (sources(isDefault="true"), f"{source}.isDefault: 'true'"),
                (sources(jsonData={"httpMode": "POST"}), f"{source}.jsonData: unknown key 'httpMode'"),
                (sources(jsonData=[]), f"{source}.jsonData: not a mapping: []"),
                (providers(allowUIUpdates=False), f"{provider}: unknown key 'allowUIUpdates'"),
                (providers(updateIntervalSeconds="30"), f"{provider}.updateIntervalSeconds: '30'"),
                (providers(options={}), f"{provider}.options: no path"),
                (slips({"apiVersion": 1, "provider": []}, PROVIDERS), "file: unknown key 'provider'"),
                (slips({"apiVersion": True, "providers": {}}, PROVIDERS), "file.apiVersion: True")):
            with self.subTest(finding):
                self.assertIn(finding, found)

    def test_the_data_source_is_the_prometheus_of_the_stack(self):
        source, = self.sources["datasources"]
        self.assertTrue(source["isDefault"])
        service, port = re.fullmatch(r"http://(\w+):(\d+)", source["url"]).groups()
        self.assertIn(f"127.0.0.1:{port}:{port}", self.services[service]["ports"])

    def test_what_dashboards_refer_to_is_provisioned(self):
        source, = self.sources["datasources"]
        for path in sorted((GRAFANA / "dashboards").glob("*.json")):
            dashboard = json.loads(path.read_text())
            variable, = (v for v in dashboard["templating"]["list"] if v["type"] == "datasource")
            self.assertEqual(variable["query"], source["type"], path.name)
            references = list(data_sources(dashboard))
            self.assertTrue(references, path.name)
            for reference in references:
                self.assertEqual(reference["type"], source["type"], path.name)
                self.assertIn(reference["uid"], (source["uid"], f"${{{variable['name']}}}"), path.name)

    def test_folders_are_mounted_where_grafana_looks(self):
        provider, = self.providers["providers"]
        mounts = self.services["grafana"]["volumes"]
        self.assertIn(f"./grafana/dashboards:{provider['options']['path']}:ro", mounts)
        # Grafana's own place, unless GF_PATHS_PROVISIONING names another.
        self.assertIn("./grafana/provisioning:/etc/grafana/provisioning:ro", mounts)
        self.assertNotIn("GF_PATHS_PROVISIONING", self.services["grafana"]["environment"])


if __name__ == "__main__":
    unittest.main()
