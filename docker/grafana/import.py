#!/usr/bin/env python3
"""Brings the dashboards into a Grafana that is there already, in place of those that an earlier call brought.

GRAFANA_TOKEN=TOKEN docker/grafana/import.py http://grafana.example:3000 [FOLDER_UID]

The token is one of a service account with the role Editor. Which Prometheus is shown is chosen on the dashboard.
"""
import http.client
import json
import os
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

DASHBOARDS = pathlib.Path(__file__).resolve().parent / "dashboards"
HINTS = {401: "GRAFANA_TOKEN is no valid token there: make one under Administration, Service accounts",
         403: "the token may not write dashboards there: its service account needs the role Editor",
         404: "give Grafana's own address, with its path where it has one, and the UID of a folder that is there",
         412: "another dashboard of this name is there: rename or remove it"}


class Failed(Exception):
    """What happened, and what to do about it or None."""


def bring(grafana, token, folder, dashboard):
    """Its address."""
    body = {"dashboard": dashboard | {"id": None}, "overwrite": True, "message": "Stoker"}
    if folder:
        body["folderUid"] = folder
    request = urllib.request.Request(
        f"{grafana}/api/dashboards/db", data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return urllib.parse.urljoin(grafana, json.load(answer)["url"])
    except urllib.error.HTTPError as error:
        said = " ".join(error.read().decode(errors="replace").split())[:200]
        raise Failed(f"{grafana} answers {error.code}: {said}", HINTS.get(error.code)) from error
    except OSError as error:
        raise Failed(f"{grafana}: {getattr(error, 'reason', error)}", "can Grafana be reached from here?") from error
    except (ValueError, LookupError, TypeError, http.client.HTTPException) as error:
        raise Failed(f"{grafana} does not answer as Grafana does", HINTS[404]) from error


def main():
    token = os.environ.get("GRAFANA_TOKEN")
    if len(sys.argv) not in (2, 3) or not token or not sys.argv[1].startswith(("http://", "https://")):
        print(__doc__, file=sys.stderr)
        return 2
    grafana, folder = sys.argv[1].rstrip("/"), (sys.argv[2:] or [None])[0]
    try:
        for path in sorted(DASHBOARDS.glob("*.json")):
            print(bring(grafana, token, folder, json.loads(path.read_text())))
    except Failed as error:
        text, hint = error.args
        print(f"import.py: {text}", *([f"hint: {hint}"] if hint else []), sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
