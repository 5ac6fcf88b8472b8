#!/usr/bin/env python3
"""Makes dashboards/*.json from panels.py, for Grafana 11 and 12.

dashboard.py            writes them
dashboard.py --check    fails when they are not what it would write

How a panel may look, beside title, unit and help: wide, high (grid of 24 columns); max; steps and good (thresholds and
which end is green); text ("both": value and name, "name"); empty (text for no data); decimals; stacked and alone (a
line of its own in a stack); trend (a stat with its graph); columns and units (tables).
"""
import json
import pathlib
import sys

from panels import DASHBOARDS

FOLDER = pathlib.Path(__file__).resolve().parent / "dashboards"
SELECTOR = '{job=~"$job",instance=~"$instance"'
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
TEXT_MODES = {"": "auto", "both": "value_and_name", "name": "name"}
# The same thing has the same colour everywhere: red for data, purple for checkpoints, green for work.
COLOURS = {"data": "red", "data_wait": "red", "h2d": "orange", "checkpoint": "purple", "checkpoint_stall": "purple",
           "compute": "green", "allreduce": "light-blue", "peers": "light-blue", "eval": "blue", "host": "yellow", "log": "super-light-yellow",
           "other": "text", "paused": "dark-purple"}


def targets(panel):
    instant = panel.kind in ("gauge", "table") or (panel.kind == "stat" and not panel.look.get("trend"))
    kind = {"table": "table", "heatmap": "heatmap"}.get(panel.kind, "time_series")
    return [{"refId": chr(ord("A") + i), "datasource": SOURCE, "editorMode": "code",
             "expr": query.replace("{@", SELECTOR), "format": kind, "instant": instant, "range": not instant,
             "legendFormat": legend or "__auto"} for i, (legend, query) in enumerate(panel.queries)]


def thresholds(look):
    if "steps" not in look:
        return {"mode": "absolute", "steps": [{"color": "text", "value": None}]}
    colours = ["green", "yellow", "red"]
    if look.get("good") == "high":
        colours.reverse()
    values = [None, *look["steps"]]
    return {"mode": "absolute", "steps": [{"color": c, "value": v} for c, v in zip(colours, values)]}


def override(name, **properties):
    return {"matcher": {"id": "byName", "options": name},
            "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]}


def overrides(panel):
    look = panel.look
    result = []
    if "alone" in look:
        result.append(override(look["alone"], custom__stacking={"mode": "none", "group": "A"}, custom__fillOpacity=0,
                               custom__lineStyle={"fill": "dash", "dash": [8, 6]}))
    if panel.queries[0][0] in ("{{cause}}", "{{segment}}") and panel.kind == "timeseries":
        result += [override(name, color={"mode": "fixed", "fixedColor": colour}) for name, colour in COLOURS.items()]
    result += [override(name, unit=unit) for name, unit in look.get("units", {}).items()]
    if "run" in look.get("columns", {}):
        result.append(override(look["columns"]["run"], links=[
            {"title": "This run", "url": "/d/stoker-overview?var-run=${__value.raw}&${__url_time_range}"}]))
    return result


def field_config(panel):
    look = panel.look
    defaults = {"unit": panel.unit, "thresholds": thresholds(look), "noValue": look.get("empty", "no data"),
                "color": {"mode": "palette-classic" if panel.kind == "timeseries" else "thresholds"}}
    if "max" in look:
        defaults |= {"min": 0, "max": look["max"]}
    if "decimals" in look:
        defaults["decimals"] = look["decimals"]
    if panel.kind == "timeseries":
        defaults["custom"] = {
            "drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "showPoints": "auto", "pointSize": 4,
            "fillOpacity": 60 if look.get("stacked") else 8, "axisSoftMin": 0, "spanNulls": False,
            "stacking": {"mode": "normal" if look.get("stacked") else "none", "group": "A"}}
    return {"defaults": defaults, "overrides": overrides(panel)}


def options(panel):
    look = panel.look
    reduced = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    if panel.kind == "timeseries":
        return {"legend": {"displayMode": "table" if look.get("stacked") else "list", "placement": "bottom",
                           "showLegend": True, "calcs": ["mean"] if look.get("stacked") else []},
                "tooltip": {"mode": "multi", "sort": "desc"}}
    if panel.kind == "stat":
        return {"reduceOptions": reduced, "textMode": TEXT_MODES[look.get("text", "")], "colorMode": "value",
                "graphMode": "area" if look.get("trend") else "none", "justifyMode": "auto", "orientation": "auto",
                "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard"}
    if panel.kind == "gauge":
        return {"reduceOptions": reduced, "showThresholdLabels": False, "showThresholdMarkers": True,
                "orientation": "auto", "minVizWidth": 75, "minVizHeight": 75, "sizing": "auto"}
    if panel.kind == "heatmap":
        return {"calculate": False, "cellGap": 1, "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64,
                                                              "exponent": 0.5, "scale": "exponential", "fill": "orange",
                                                              "reverse": False},
                "exemplars": {"color": "rgba(255,0,255,0.7)"}, "filterValues": {"le": 1e-9},
                "legend": {"show": True}, "rowsFrame": {"layout": "le"}, "showValue": "never",
                "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": False},
                "yAxis": {"axisPlacement": "left", "reverse": False, "unit": panel.unit}}
    return {"frameIndex": 0, "showHeader": True, "cellHeight": "sm",
            "footer": {"show": False, "reducer": ["sum"], "countRows": False}}


def transformations(panel):
    """Of a table: one row from the frames of all queries, columns with names and in order."""
    columns = dict(panel.look["columns"])
    several = len(panel.queries) > 1
    for i, (name, _) in enumerate(panel.queries):
        columns["Value #" + chr(ord("A") + i) if several else "Value"] = name
    hidden = {"Time": True} | {field: True for field, name in columns.items() if not name}
    shown = {field: name for field, name in columns.items() if name}
    known = {"job": True, "instance": True} if "instance" not in shown else {"job": True}
    return ([{"id": "merge", "options": {}}] if several else []) + [
        {"id": "organize", "options": {"excludeByName": hidden | known, "renameByName": shown,
                                       "indexByName": {field: i for i, field in enumerate(shown)}}}]


class Layout:
    """Left to right, then down."""

    def __init__(self):
        self.id = self.x = self.y = self.high = 0

    def place(self, wide, high):
        if self.x + wide > 24:
            self.end_line()
        position = {"x": self.x, "y": self.y, "w": wide, "h": high}
        self.x += wide
        self.high = max(self.high, high)
        self.id += 1
        return {"id": self.id, "gridPos": position}

    def end_line(self):
        self.x, self.y, self.high = 0, self.y + self.high, 0


def panel_json(panel, first_row, layout):
    small = first_row and panel.kind in ("stat", "gauge")
    wide = panel.look.get("wide", 3 if small else 12 if panel.kind == "table" else 6)
    result = layout.place(wide, panel.look.get("high", 4 if small else 8))
    result |= {"type": panel.kind, "title": panel.title, "datasource": SOURCE,
               "description": panel.help + (f" Empty without {panel.needs}." if panel.needs else ""),
               "targets": targets(panel), "fieldConfig": field_config(panel), "options": options(panel)}
    if panel.kind == "table":
        result["transformations"] = transformations(panel)
    return result


def rows_json(rows):
    layout, result = Layout(), []
    for number, (title, panels) in enumerate(rows.items()):
        layout.end_line()
        row = layout.place(24, 1) | {"type": "row", "title": title, "collapsed": number > 0, "panels": []}
        layout.end_line()
        if number > 0:
            below = Layout()
            below.id, below.y = layout.id, layout.y
            row["panels"] = [panel_json(panel, False, below) for panel in panels]
            layout.id = below.id
            result.append(row)
        else:
            result += [row, *(panel_json(panel, True, layout) for panel in panels)]
    return result


def variable(name, label, query, help, **more):
    return {"name": name, "label": label, "description": help, "type": "query", "datasource": SOURCE, "hide": 0,
            "query": {"query": query, "refId": "StandardVariableQuery"}, "regex": "",
            "refresh": 2, "sort": 2, "multi": False, "includeAll": False, "options": [],
            "skipUrlSync": False} | more


def variables(name):
    every = {"multi": True, "includeAll": True}
    found = [{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "regex": "",
              "refresh": 1, "hide": 0, "multi": False, "includeAll": False, "options": [],
              "skipUrlSync": False, "description": "The Prometheus that scrapes the runs."},
             variable("job", "Job", "label_values(stoker_run_info, job)", "Scrape job.", allValue=".+", **every)]
    runs = 'label_values(stoker_run_info{job=~"$job"}, run)'
    if name == "compare":
        return found + [variable("run", "Runs", runs, "Runs in the time range.", allValue=".+", **every)]
    return found + [
        variable("run", "Run", runs, "A run in the time range."),
        variable("instance", "Address", 'label_values(stoker_run_info{job=~"$job",run=~"$run"}, instance)',
                 "Where the run's processes were reached. The graphs show all runs at these addresses, the "
                 "single figures the chosen run.", **every)]


def dashboard(name):
    title, help, rows = DASHBOARDS[name]
    return {"uid": f"stoker-{name}", "title": title, "description": help, "tags": ["stoker"], "editable": False,
            "graphTooltip": 1, "refresh": "5s", "schemaVersion": 39, "timezone": "browser", "version": 1,
            "time": {"from": "now-15m" if name == "overview" else "now-3h", "to": "now"}, "timepicker": {},
            "fiscalYearStartMonth": 0, "weekStart": "", "annotations": {"list": []},
            "links": [{"type": "dashboards", "title": "Stoker", "tags": ["stoker"], "asDropdown": False,
                       "includeVars": False, "keepTime": True, "targetBlank": False, "icon": "external link",
                       "tooltip": "", "url": ""}],
            "templating": {"list": variables(name)}, "panels": rows_json(rows)}


def main():
    texts = {FOLDER / f"{name}.json": json.dumps(dashboard(name), indent=1, ensure_ascii=False) + "\n"
             for name in DASHBOARDS}
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, text in texts.items() if not path.is_file() or path.read_text() != text]
        stale += [path.name for path in FOLDER.glob("*.json") if path not in texts]
        if stale:
            sys.exit(f"dashboard.py: not what panels.py says, run dashboard.py: {', '.join(sorted(stale))}")
        return
    FOLDER.mkdir(exist_ok=True)
    for path, text in texts.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
