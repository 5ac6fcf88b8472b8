"""What one thread takes to bring decoded pixels (224 x 224) into batches, beside plain copies of as many bytes.

`stoker bench loader` with one worker, from pixels kept in memory (`decoded`) and in a file (`packed`, mapped and
copied), all in the page cache; and NumPy's copy of the same blocks in random order. For docs/notes/decoding.md,
"Copying kept pixels".
"""
import time

from stoker import configuration, posix

ROUNDS = 6
OPTIONS = {"samples": 4000}
SAMPLE = 224 * 224 * 3
DECODED = "{type: decoded, limit: 64GiB, inner: {type: synthetic, unique: 64, test_samples: 0, samples: COUNT}}"
WAYS = {"decoded": (DECODED, ""), "packed, mapped": ("{type: packed, storage: data}", ""),
        "packed, copied": ("{type: packed, storage: data, access: copy}", ""),
        "decoded, flipped": (DECODED, ", augment: {flip: true}")}


def copy(lab):
    """By this process, from more memory than caches hold into three batches."""
    import numpy
    count = lab.given.samples
    kept, batches = numpy.ones((count, SAMPLE), numpy.uint8), numpy.ones((384, SAMPLE), numpy.uint8)
    order = numpy.random.default_rng(lab.given.seed).permutation(count)
    begin = time.thread_time()
    for at, number in enumerate(order):
        batches[at % 384] = kept[number]
    return {"images/s of a core": count / (time.thread_time() - begin)}


def load(lab, dataset, decoder):
    got = lab.json("bench", "loader", "kept.yaml", f"dataset={dataset.replace('COUNT', str(lab.given.samples))}",
                   f"decoder={{type: raw, size: 224{decoder}}}", "--quick", "--epochs=3")
    return {"images/s of a core": got["per_cpu_s"]}


def run(lab):
    (lab.folder / "kept.yaml").write_text(configuration(
        {"data": posix("packed")},
        dataset=f"{{type: synthetic, unique: 64, test_samples: 0, samples: {lab.given.samples}}}",
        decoder="{type: turbojpeg, size: 224}", loader="{type: prefetched, batch_size: 128, workers: 1}"))
    lab.stoker("dataset", "convert", "kept.yaml", "packed", "--format", "packed", "--no-verify")
    lab.measure("", {"copy by NumPy": lambda: copy(lab)} | lab.each(WAYS, load), reference="copy by NumPy")
