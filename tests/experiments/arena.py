"""Loaders of JPEG training data side by side, each as fast as its users make it, on the same work: peers/README.md.

--arena loaders: Caltech-101, page cache warm; read, decode to RGB, resize to 224 x 224, batches of 128, shuffled again
each epoch. Classes bilinear and antialias: float32, normalised, NCHW. uint8: NHWC, not normalised. cached: from pixels
decoded beforehand. --arena shards: the same files in 16 shards of each one's format, page cache warm, or cold: the
shards' pages are dropped before each measured epoch. Rounds are in an order of the seed's. The ratio is to the best of
the class that is not ours, with as many workers. --pixels: first, the mean difference of each one's pixels from those
of its class's reference, in grey levels. --only: names and classes. peers/setup.sh makes the peers; who is not there is
listed. For docs/results.md and docs/measuring.md.
"""
import array
import ast
import dataclasses
import json
import math
import operator
import os
import re
import shlex
import signal
import subprocess

from frame import HERE, CannotMeasure, short
from stoker import SOURCE, STOKER

ROUNDS = 5
OPTIONS = {"arena": {"loaders": 0, "shards": 0}, "peers": (os.environ.get("PEERS", "peers"), "what setup.sh made"),
           "data": (None, "a folder of JPEG files for each class"), "workers": [1, 2], "epochs": (3, "measured ones"),
           "pixels": False, "timeout": (1200.0, "seconds of a run")}
MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # ImageNet's, in grey levels
PROCESSES = "workers are processes beside the main one"


@dataclasses.dataclass
class Entry:
    """A command in which {stoker}, {data}, {workers}, {epochs}, {cache} are replaced."""
    name: str
    kind: str                  # entries of one class do the same work and are compared
    command: str
    needs: str = ""            # a path in the folder of the peers; where it is absent, so is the entry
    buffers: str = "reused"    # of its batches: reused or fresh
    note: str = ""             # what else differs
    ours: bool = False
    reference: bool = False    # its class's pixels are compared with its


def own(name, kind, settings, note="", how="bench loader {arena} storage.data.root={data}",
        more="--quick --epochs {epochs}"):
    return Entry(name, kind, f"{{stoker}} {how} loader.workers={{workers}} {settings} {more} --json", note=note,
                 ours=True)


def peer(name, kind, loader, variant, environment, buffers="fresh", note="", more="", **flags):
    python, script = f"v-{environment}/bin/python", "{here}/peers/loaders.py"
    words = "--data {data} --workers {workers} --epochs {epochs} --cache {cache}"
    return Entry(name, kind, f"{{cache}}/{python} -B {script} {loader} {variant} {words} {more}", python, buffers, note,
                 **flags)


FLOAT, AREA = "decoder.output=float32", "resized by area, its only way, so other pixels"
KEPT = "dataset='{type: decoded, inner: {type: image_folder, storage: data}}' decoder="
LOADERS = [
    own("stoker", "bilinear", FLOAT),
    peer("stoker-python", "bilinear", "stoker_python", "bilinear", "stoker", "reused", "in a Python loop", ours=True),
    peer("cv2-ring", "bilinear", "cv2", "ring", "cv2", "reused", reference=True),
    peer("cv2-merge", "bilinear", "cv2", "merge", "cv2"),
    peer("dali", "bilinear", "dali", "plain", "dali", "reused", "whole batches: 9,088 images an epoch"),
    peer("tf-plain", "bilinear", "tf_data", "plain", "tf"),
    peer("tf-tuned", "bilinear", "tf_data", "tuned", "tf",
         note="fast inverse DCT and plain upsampling: other pixels, less work"),
    peer("grain-cv2", "bilinear", "grain", "cv2", "grain"),
    peer("torch-tvionoaa", "bilinear", "torch", "tvionoaa", "torch", note=PROCESSES),
    peer("ffcv-orig", "bilinear", "ffcv", "orig", "ffcv", "reused", "the files lie in one of its own format; " + AREA),
    peer("spdl", "bilinear", "spdl", "iobatch", "spdl", note="decoded and scaled by FFmpeg, so other pixels"),
    peer("turboloader", "bilinear", "turboloader", "plain", "turbo",
         note="one tar file by mmap; other pixels; no labels"),
    peer("turboloader-into", "bilinear", "turboloader", "into", "turbo", "reused", "likewise"),
    own("stoker-aa", "antialias", f"{FLOAT} decoder.resize=antialias"),
    peer("stoker-python-aa", "antialias", "stoker_python", "antialias", "stoker", "reused", "as above", ours=True),
    peer("grain-pil", "antialias", "grain", "pil", "grain", reference=True),
    peer("dali-aa", "antialias", "dali", "aa", "dali", "reused", "whole batches: 9,088 images an epoch"),
    peer("tf-aa", "antialias", "tf_data", "aa", "tf"),
    peer("torch-tvio", "antialias", "torch", "tvio", "torch", note=PROCESSES),
    peer("torch-tviotuned", "antialias", "torch", "tviotuned", "torch",
         note="uint8 to the main process, normalised there"),
    own("stoker-uint8", "uint8", "", "our own way, normalised on the device; no other makes such batches"),
    own("stoker-whole", "uint8", "decoder.on_device=resize",
        "whole images in frames of 512 KiB, resized on the device"),
    own("stoker-cached", "cached", KEPT + "'{type: raw, size: 224}'", "decoded in the epoch that is dropped"),
    own("stoker-cached-float32", "cached", KEPT + "'{type: raw, size: 224, output: float32}'", "likewise, normalised"),
    peer("ffcv-raw256", "cached", "ffcv", "raw256", "ffcv", "reused", "float32, from pixels of at most 256 x 256; "
         + AREA)]


def shards(kind):
    """The entries of a class: warm or cold. What is read ahead before the drop counts for DALI, tf.data and PyTorch."""
    end, cold = ("-cold", "--cold") if kind == "cold" else ("", "")
    for form, dataset in (("tar", "tar_shards"), ("tfrecord", "tfrecord")):
        of = (f"storage.data.root={{data}}-shards/{form} loader.order=shards "
              f"dataset='{{type: {dataset}, storage: data}}'")
        how = {"how": f"bench loader {{arena}} {of}"}
        if cold:
            how = {"how": f"bench read {{arena}} {of}", "more": "--loader --stages=resize --threads={workers} "
                   "--batch=128 --repetitions=$((1 + {epochs})) --page-cache=cold"}
        entry = own(f"stoker-{form}{end}", kind, FLOAT, **how)
        yield dataclasses.replace(entry, needs=f"{{data}}-shards/{form}.done")
    for name, loader, variant, environment, form, note in (
            ("webdataset", "webdataset", "cv2", "shards", "tar", PROCESSES),
            ("dali-tar", "dali", "plain", "dali", "tar", "whole batches"),
            ("dali-tfrecord", "dali", "plain", "dali", "tfrecord", "whole batches"),
            ("tf-tfrecord", "tf_data", "plain", "tf", "tfrecord", ""),
            ("grain-arrayrecord", "grain", "cv2", "grain", "arrayrecord", "records one by one, in an order of all"),
            ("mds", "mds", "cv2", "shards", "mds", PROCESSES)):
        yield peer(name + end, kind, loader, variant, environment, "reused" if loader == "dali" else "fresh", note,
                   f"--shards {{data}}-shards/{form} {cold}")


def command(lab, entry, data, workers):
    """Its words for /bin/sh."""
    values = {"stoker": STOKER, "here": HERE, "arena": SOURCE / "configs/arena.yaml", "data": data, "workers": workers,
              "epochs": lab.given.epochs, "cache": os.path.abspath(lab.given.peers)}
    return re.sub(r"\{(\w+)\}", lambda m: shlex.quote(str(values[m[1]])) if m[1] in values else m[0], entry.command)


def output_of(lab, words):
    """The last object of JSON that a command prints. Its process group ends with it: nothing that a peer leaves behind
    may disturb the next."""
    child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", words], stdout=subprocess.PIPE,
                             text=True,
                             stderr=subprocess.PIPE, start_new_session=True, env={**os.environ, "STOKER": STOKER})
    try:
        out, log = child.communicate(timeout=lab.given.timeout)
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if child.returncode:
        raise CannotMeasure(f"exit code {child.returncode}: {(log.strip() or 'said nothing').splitlines()[-1]}")
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if not found and "--dump" not in words:
        raise CannotMeasure("it printed no JSON")
    last = found[-1] if found else {}
    return {**last, **last["results"][0]} if len(last.get("results", ())) == 1 else last  # of `stoker bench read`


def figures(lab, entry, workers, notes):
    got = output_of(lab, command(lab, entry, lab.given.data, workers))
    notes[entry.name] = f"{got.get('version', 'stoker')}, {got.get('shape', '')}, {entry.buffers} buffers"
    rate = got["images_per_s"]
    return {"images/s": rate["median"] if isinstance(rate, dict) else rate, "CPU-s/1000": got.get("cpu_s_per_1000"),
            "peak MB": got.get("rss_mb"), "PSS MB": got.get("pss_mb")}


def grey_levels(path):
    """A batch of RGB images as levels, plane by plane: the file holds levels (uint8), or float32 normalised as
    above."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:begin].decode("latin1"))
    shape, kind = header["shape"], {"|u1": "B", "<f4": "f"}[header["descr"]]
    values, levels, area = array.array(kind, data[begin:]), array.array("f"), math.prod(shape[1:]) // 3
    for at in range(0, len(values), 3 * area):
        for channel, (std, mean) in enumerate(zip(STD, MEAN)):
            plane = (values[at + channel * area:at + (channel + 1) * area] if shape[1] == 3
                     else values[at + channel:at + 3 * area:3])
            levels.extend(map(float, plane) if kind == "B" else [min(max(v * std + mean, 0.0), 255.0) for v in plane])
    return levels


def difference(levels, others):
    """(mean, most) of two batches of the same images."""
    assert len(levels) == len(others), f"{len(levels)} values against {len(others)}: not the same images"
    by = list(map(abs, map(operator.sub, levels, others)))
    return sum(by) / len(by), max(by)


def compare_pixels(lab, entries):
    """The same few files in sorted order, as the first batch, once: {name: mean difference}"""
    levels, found = {}, {}
    for entry in sorted(entries, key=lambda entry: not entry.reference):
        path = lab.folder / f"{entry.name}.npy"
        words = command(lab, entry, os.path.abspath(lab.given.peers) + "/pixels-128", 1) + f" --dump {path}"
        try:
            output_of(lab, words.replace("loader.workers=1", "loader.workers=1 loader.shuffle=false"))
            levels[entry.name] = grey_levels(path)
            reference = next((one.name for one in entries if one.reference and one.kind == entry.kind), None)
            if reference in levels:
                found[entry.name] = difference(levels[entry.name], levels[reference])[0]
        except (CannotMeasure, AssertionError, OSError, KeyError) as error:
            lab.left_out(f"pixels of {entry.name}", error)
    return found


def run(lab):
    given, notes = lab.given, {}
    given.data = os.path.abspath(given.data or f"{given.peers}/data/101_ObjectCategories")
    entries = LOADERS if given.arena == "loaders" else [*shards("warm"), *shards("cold")]
    chosen = [entry for entry in entries if re.search(given.only, entry.name) or given.only == entry.kind]
    needs = lambda entry: os.path.join(os.path.abspath(given.peers), entry.needs.replace("{data}", given.data))
    here = [entry for entry in chosen if os.path.exists(needs(entry))]
    for entry in chosen:
        if entry not in here:
            lab.left_out(entry.name, f"{needs(entry)} is not there: see peers/setup.sh")
    kinds = {entry.kind for entry in here} & {"bilinear", "antialias"}
    shown = [entry for entry in entries if entry.kind in kinds and (entry in here or entry.reference)]
    pixels = compare_pixels(lab, shown) if given.pixels else {}
    named = {f"{entry.name}, {workers} workers": (entry, workers) for entry in here for workers in given.workers}
    got = lab.measure(given.arena, {name: lambda of=of: figures(lab, *of, notes) for name, of in named.items()},
                      shuffle=True, show=False)
    for kind, workers in dict.fromkeys((named[name][0].kind, named[name][1]) for name in got):
        group = {name: named[name][0] for name in got if (named[name][0].kind, named[name][1]) == (kind, workers)}
        others = [got.median(name, "images/s") for name, entry in group.items() if not entry.ours]
        rows = [{"name": entry.name + " *" * entry.ours, **{figure: got.median(name, figure) for figure in got[name]},
                 "least, most": " to ".join(short(limit(got.values_of(name, "images/s"))) for limit in (min, max)),
                 "ratio": got.median(name, "images/s") / max(others) if others else None,
                 "pixels": pixels.get(entry.name)}
                for name, entry in group.items()]
        lab.table(f"{kind}, {workers} workers (* ours)", sorted(rows, key=lambda row: -row["images/s"]))
    for entry in here:
        if entry.name in notes:
            lab.say(f"{entry.name}: {notes[entry.name]}{'; ' * bool(entry.note)}{entry.note}")
