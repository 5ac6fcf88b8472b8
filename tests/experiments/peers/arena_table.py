"""What arena.py prints: medians and ratios of its results, as text and JSON, and how far pixels are from a reference's."""
import array
import ast
import collections
import json
import math
import operator
import os
import platform
import statistics

MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # ImageNet's, in grey levels


def grey_levels(path):
    """A batch of RGB images as levels, plane by plane: the file holds levels (uint8), or float32 normalised as above."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:begin].decode("latin1"))
    shape, kind = header["shape"], {"|u1": "B", "<f4": "f"}.get(header["descr"])
    if len(shape) != 4 or 3 not in (shape[1], shape[3]) or kind is None or header["fortran_order"]:
        raise ValueError(f"{path}: expected N x 3 x H x W or N x H x W x 3 of uint8 or float32")
    values, levels, area = array.array(kind, data[begin:]), array.array("f"), math.prod(shape[1:]) // 3
    for at in range(0, len(values), 3 * area):
        for channel, (std, mean) in enumerate(zip(STD, MEAN)):
            plane = (values[at + channel * area:at + (channel + 1) * area] if shape[1] == 3
                     else values[at + channel:at + 3 * area:3])
            levels.extend(map(float, plane) if kind == "B" else [min(max(v * std + mean, 0.0), 255.0) for v in plane])
    return levels


def difference(levels, others):
    if len(levels) != len(others):
        raise ValueError(f"{len(levels)} values against {len(others)}: not the same images")
    by = array.array("f", map(abs, map(operator.sub, levels, others)))
    below, p99 = 0, 0
    for p99, count in sorted(collections.Counter(int(1000 * one) for one in by).items()):
        below += count
        if below > len(by) * 99 // 100:
            break
    return dict(mean=sum(by) / len(by), p99=p99 / 1000, max=max(by))


def compare_pixels(arena, file_of):
    """Differences of each entry's pixels from those of its class's reference, by entry: of all that were written."""
    found = {}
    for reference in arena.entries:
        if not reference.reference or not file_of(reference).exists():
            continue
        others = None
        for entry in arena.entries:
            if entry.work_class != reference.work_class or not entry.pixels or not file_of(entry).exists():
                continue
            try:
                others = others or grey_levels(file_of(reference))
                found[entry.name] = dict(difference(grey_levels(file_of(entry)), others), reference=reference.name)
            except (OSError, ValueError) as error:
                found[entry.name] = dict(error=str(error))
    return found


def rate_of(output):
    rate = output.get("images_per_s")
    return rate.get("median") if isinstance(rate, dict) else rate


def line_of(entry, workers, rows, pixels):
    outputs = [row["output"] for row in rows]
    rates = [rate for output in outputs for rate in output.get("rates") or [rate_of(output)]]
    cpu = [output.get("cpu_s_per_1000") or 1000 / output["per_cpu_s"] for output in outputs
           if output.get("cpu_s_per_1000") or output.get("per_cpu_s")]
    word = lambda value: value if isinstance(value, str) else json.dumps(value, separators=(",", ":")) if value else ""
    line = {"class": entry.work_class, "name": entry.name, "workers": workers, "ours": entry.ours, "rounds": len(rows),
            "images_per_s": statistics.median(map(rate_of, outputs)), "min": min(rates), "max": max(rates),
            "batches": f"{word(outputs[-1].get('shape'))} {word(outputs[-1].get('layout'))}", "buffers": entry.buffers,
            "version": word(outputs[-1].get("version"))}
    if cpu:
        line["cpu_s_per_1000"] = statistics.median(cpu)
    for name, key in (("peak_mb", "rss_mb"), ("pss_mb", "pss_mb")):
        values = [output[key] for output in outputs if key in output]
        if values:
            line[name] = max(values)
    if "mean" in pixels.get(entry.name, {}):
        line["pixels"] = pixels[entry.name]
    return line


def conditions(load):
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
    found = dict(cpu=cpu, cores=len(os.sched_getaffinity(0)), kernel=f"{platform.system()} {platform.release()}",
                 memory_mb=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1000000)
    return dict(found, load=[min(load), max(load)]) if load else found


def make_table(arena, plan, runs, results, pixels, failed):
    absent = [entry for entry in arena.entries if plan.selected(entry) and not plan.is_there(entry)]
    groups, missing, load = {}, 0, []
    for run in runs:
        row = results.of(run)
        if row and not row["error"]:
            groups.setdefault((run.entry.name, run.workers), (run.entry, []))[1].append(row)
            load.append(row["load"])
        elif run.entry in absent:
            continue
        elif row:
            failed.append(dict(name=run.entry.name, workers=run.workers, round=run.round, error=row["error"]))
        else:
            missing += 1
    failed += [dict(name=entry.name, workers=1, round=0, error="pixels: " + pixels[entry.name]["error"])
               for entry in arena.entries if plan.selected(entry) and "error" in pixels.get(entry.name, {})]
    lines = [line_of(entry, workers, rows, pixels) for (_, workers), (entry, rows) in groups.items()]
    for line in lines:  # to the best of the class that is not ours, with as many workers
        others = [other["images_per_s"] for other in lines
                  if (other["class"], other["workers"], other["ours"]) == (line["class"], line["workers"], False)]
        if others:
            line["ratio_to_best_other"] = line["images_per_s"] / max(others)
    place = [entry.work_class for entry in arena.entries].index
    lines.sort(key=lambda line: (place(line["class"]), line["workers"], -line["images_per_s"]))
    return dict(name=arena.name, work=arena.work, rounds=arena.rounds, epochs=arena.epochs, seed=arena.seed,
                conditions=conditions(load), lines=lines, failed=failed, missing_runs=missing,
                absent=[{"name": entry.name, "class": entry.work_class, "install": entry.install or f"needs {entry.needs}"}
                        for entry in absent])


def cells(line):
    number = lambda key, form: format(line[key], form) if key in line else "-"
    pixels = line.get("pixels")
    return [line["class"], line["name"] + " *" * line["ours"], str(line["workers"]), f"{line['images_per_s']:.0f}",
            f"{line['min']:.0f}-{line['max']:.0f}", f"{100 * (line['max'] - line['min']) / line['images_per_s']:.1f} %",
            number("cpu_s_per_1000", ".3f"), number("peak_mb", ".0f"), number("pss_mb", ".0f"),
            number("ratio_to_best_other", ".2f"),
            "-" if not pixels else "ref" if pixels["reference"] == line["name"] else f"{pixels['mean']:.3f}", line["buffers"] or "-"]


def print_table(arena, table):
    print(f"{table['name']}: {table['work']}\n")
    rows = [["class", "name", "workers", "images/s", "min-max", "spread", "CPU-s/1000", "peak MB", "PSS MB", "ratio", "pixels",
             "buffers"], *map(cells, table["lines"])]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    print("\n* ours. images/s: median of the rounds' medians; min-max: of all measured epochs. ratio: to the class's best with as many "
          "workers,\nours aside. peak: sum of the processes' peaks; PSS: shared pages counted once. pixels: mean difference from the "
          "class's reference in\ngrey levels.")
    for entry in table["absent"]:
        print(f"not there: {entry['name']} ({entry['class']}): {entry['install']}")
    for failure in table["failed"]:
        print(f"failed: {failure['name']} workers={failure['workers']} round {failure['round']}: {failure['error']}")
    if table["missing_runs"]:
        print(f"{table['missing_runs']} runs are still to be done: the same command goes on")
    of = table["conditions"]
    load = f"; load before a run {of['load'][0]:.1f} to {of['load'][1]:.1f}" if "load" in of else ""
    print(f"conditions: {of['cpu']}, {of['cores']} cores, {of['memory_mb']} MB, {of['kernel']}{load}; {table['rounds']} rounds of "
          f"{table['epochs']} epochs after one that is dropped, interleaved, one command at a time")
    versions = sorted({line["version"] for line in table["lines"]} - {""})
    if versions:
        print("versions: " + "; ".join(versions))
    for entry in arena.entries:
        if entry.note and any(line["name"] == entry.name for line in table["lines"]):
            print(f"{entry.name}: {entry.note}")
