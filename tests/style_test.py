#!/usr/bin/env python3
"""Measures the house rules that a compiler does not: sizes, folders, walls between rooms, interfaces, the ABI.

style_test.py               checks; prints every violation as file:line: rule
style_test.py --update  records the interface headers of the ABI number in io/core/config/plugin.h
"""
import collections
import hashlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ABI_FILE = ROOT / "tests/abi.txt"

MAX_FILE, MAX_FUNCTION, MAX_MAIN, MAX_METHODS = 700, 60, 40, 5
MAX_IN_FOLDER, MAX_COMMAND, MAX_README = 40, 150, 150

LOOSE_IN_APP = {"main.cpp", "cli.h", "cli.cpp", "CMakeLists.txt", "README.md"}
ROOM = re.compile(r"^stoker_room\((\S+)([^)]*)\)", re.MULTILINE)
# tests/ has the folders of the sources, and these.
OTHER_TESTS = {"docker", "experiments", "fuzz", "gpu", "install", "plugins", "sanitizers", "support"}
TORCH = re.compile(r"#include <((?:torch|ATen|c10|caffe2)/[^>]+)>")
# Headers are included everywhere, and LibTorch's cost 5 to 20 seconds each. c10/core is part of Tensor.h.
TORCH_IN_HEADERS = re.compile(r"ATen/core/Tensor\.h|c10/core/\w+\.h")
TORCH_EXCEPTIONS = {
    "models/networks/network.h": r"torch/nn/module\.h",  # a Network is a torch::nn::Module
    "io/distributed/c10d.h": r"torch/csrc/distributed/c10d/\w+\.hpp",  # for some sources of its folder alone
}
# Declarations of another library's types, by its names.
NOT_OURS = {"io/distributed/gloo_declarations.h"}
INTERFACES = ["io/storage/storage.h", "io/dataset/dataset.h", "io/dataset/shards/shard_writer.h", "io/decoder/decoder.h",
              "io/loader/loader.h", "io/device/device.h", "io/distributed/peers.h",
              "io/checkpoint/checkpointer.h", "io/metrics/sink.h", "models/networks/model.h", "models/networks/network.h",
              "models/optimizers/optimizer.h", "models/objectives/objective.h"]
MAX_TRACKED_BYTES = 1 << 20


def files(folders, *suffixes):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes or path.name in suffixes:
                yield path


def name(path):
    return path.relative_to(ROOT).as_posix()


LITERAL_OR_COMMENT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)


def code_only(text):
    """The text with comments, literals and directives emptied; every line stays where it is."""
    text = LITERAL_OR_COMMENT.sub(lambda m: '""' + "\n" * m.group().count("\n"), text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
                  lambda m: "\n" * m.group().count("\n"), text, flags=re.MULTILINE)


def functions(code):
    """(name, first line, lines) of each function; a lambda is part of the function around it."""
    start = 0      # where the text before the next brace begins
    inside = None  # [brace depth, first line, name] of the function we are in
    depth, line = 0, 1
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char == "{":
            head = code[start:at]
            named = re.search(r"([~\w:]+|operator\W+)\s*\(", head)
            scope = re.match(r"\s*(inline\s+)?(namespace|class|struct|enum|union|extern)\b", head)
            if inside is None and named and not scope:
                inside = [depth, line - head.lstrip().count("\n"), named.group(1)]
            depth += 1
            start = at + 1 if inside is None else start
        elif char == "}":
            depth -= 1
            following = code[at + 1:at + 40].lstrip()[:1]
            if inside and depth == inside[0]:
                if following and following in ",{":  # a member initialised with braces
                    inside = None
                    continue
                yield inside[2], inside[1], line - inside[1] + 1
                inside = None
            if inside is None:
                start = at + 1
        elif char == ";" and inside is None:
            start = at + 1


def check_sizes(problem):
    count = 0
    for path in files(["app", "io", "models", "python", "tests", "cmake"],
                      ".h", ".cpp", ".py", ".cmake", ".sh", "CMakeLists.txt"):
        text = path.read_text()
        length = text.count("\n")
        if length > MAX_FILE:
            problem(path, 1, f"{length} lines; at most {MAX_FILE}: is this one concept?")
        if path.suffix in (".h", ".cpp"):
            count += 1
            for function, first, lines in functions(code_only(text)):
                limit = MAX_MAIN if function == "main" else MAX_FUNCTION
                if lines > limit:
                    problem(path, first, f"{function} has {lines} lines; at most {limit}")
    return count


class Room:
    """A stoker_room() of CMake: which library it is a part of, and which other rooms it may include."""

    def __init__(self, path, words):
        self.path, self.library = path, words[words.index("IN") + 1]
        self.torch = "TORCH" in words
        self.sources = words[words.index("SOURCES") + 1:]
        ends = [words.index(word) for word in ("LIBRARIES", "SOURCES") if word in words]
        self.needs = set(words[words.index("NEEDS") + 1:min(ends)]) if "NEEDS" in words else set()


def read_rooms():
    """By folder."""
    rooms = {}
    for path in files(["app", "io", "models"], "CMakeLists.txt"):
        for folder, words in ROOM.findall(path.read_text()):
            rooms[folder] = Room(path, words.split())
    return rooms


ROOMS = read_rooms()


def room(path):
    """The room that a file lies in: that of its nearest folder which is one."""
    return max((folder for folder in ROOMS if name(path).startswith(folder + "/")), key=len, default=None)


def tracked():
    # Whoever owns the checkout. Where it is none, nothing is tracked.
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, capture_output=True, check=False, text=True)
    return [path for name in filter(None, listed.stdout.split("\0")) if (path := ROOT / name).exists()]


def check_folders(problem):
    """A folder is a concept: sources lie in rooms, tests in the folder of what they test, none overflows."""
    counts = collections.Counter(path.parent for path in tracked() if not name(path).startswith("datasets/"))
    for folder, count in counts.items():
        if count > MAX_IN_FOLDER:
            problem(folder, 1, f"{count} files; at most {MAX_IN_FOLDER}: is this one concept?")
    if (lines := (ROOT / "README.md").read_text().count("\n")) > MAX_README:
        problem(ROOT / "README.md", 1, f"{lines} lines; at most {MAX_README}: docs/ has room")
    for path in files(["app", "io", "models"], ".h", ".cpp", ".cu"):
        if room(path) is None or path.parent == ROOT / "app" and path.name not in LOOSE_IN_APP:
            problem(path, 1, "lies in no room: stoker_room() in a CMakeLists.txt names its folder")
    for path in files(["tests"], ".cpp", ".py"):
        folder = path.parent.relative_to(ROOT / "tests").as_posix()
        if folder.split("/")[0] not in OTHER_TESTS and folder != "." and not any(
                (ROOT / place / folder).is_dir() for place in ("io", ".")):
            problem(path, 1, f"tests/{folder} is the folder of no sources")


def check_commands(problem):
    """Commands read arguments; what they do lies beside them, where tests and other commands reach it."""
    commands = [path for path in files(["app/commands", "app/train/commands", "app/tools"], ".cpp")
                if path.stem.startswith("command")]
    for path in commands:
        if (lines := path.read_text().count("\n")) > MAX_COMMAND:
            problem(path, 1, f"{lines} lines; a command has at most {MAX_COMMAND}")


# Whatever a checkpoint does to a file passes FileTree, where tests record it and let it fail.
PAST_THE_SEAM = re.compile(r"\bstd::(?:i|o)?fstream\b|\bstd::fopen\b|\bfs::(?:remove|rename|create|copy|resize)"
                           r"|(?<!\w)::(?:open|creat|p?write|p?read|fsync|fdatasync|rename|unlink|mkdir|rmdir|ftruncate"
                           r"|fallocate|opendir|stat|access)\(|io/core/system/file\.h")


TEMPORARY = re.compile(r"\btemp_directory_path\b|\b(?:mkdtemp|mkstemps?|mkostemps?|tmpnam|tempnam|tmpfile)\s*\(")


def forbid(problem, paths, pattern, why):
    for path in paths:
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if match := pattern.search(text.partition("//")[0]):
                problem(path, number, f"{match.group()}: {why}")


def check_seam(problem):
    forbid(problem, files(["io/checkpoint"], ".h", ".cpp"), PAST_THE_SEAM, "checkpoints reach files through FileTree only")


def check_temporary(problem):
    """A temporary folder whose name can be guessed may be another user's: TemporaryFolder makes all of them."""
    paths = [path for path in files(["app", "io", "models", "python/bindings"], ".h", ".cpp") if name(path) != "io/core/system/file.cpp"]
    forbid(problem, paths, TEMPORARY, "temporary folders are made by TemporaryFolder only")


def check_includes(problem):
    """A room includes itself and the rooms that it NEEDS, and needs none that it does not include."""
    used = collections.defaultdict(set)
    for path in files(["app", "io", "models"], ".h", ".cpp", ".cu"):
        own = room(path)
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if match := re.match(r'#include "([^"]+)"', text):
                other = room(ROOT / match.group(1))
                if other is None or not (ROOT / match.group(1)).exists():
                    problem(path, number, f"{match.group(1)}: includes start at the project's root")
                elif other != own:
                    used[own].add(other)
                    if other not in ROOMS[own].needs:
                        problem(path, number, f"{own} includes {other}, which its stoker_room() does not name in NEEDS")
            elif match := TORCH.match(text):
                check_torch_include(problem, path, number, match.group(1))
    for folder, one in ROOMS.items():
        for other in sorted(one.needs - used[folder]):
            problem(one.path, 1, f"{folder} NEEDS {other}, and includes nothing of it")
    check_arrows(problem, used)


def check_arrows(problem, used):
    """The arrows between rooms have no loop. STOKER_ARROWS=1 prints them."""
    order = []
    while ready := [folder for folder in ROOMS if folder not in order and used[folder] <= set(order)]:
        order += ready
    for folder in sorted(set(ROOMS) - set(order)):
        problem(ROOMS[folder].path, 1, f"{folder} is part of a loop, or needs one: {', '.join(sorted(used[folder]))}")
    if os.environ.get("STOKER_ARROWS"):
        for folder in order:
            print(f"{folder} ({ROOMS[folder].library}): {' '.join(sorted(used[folder]))}")
        arrows = sum(len(needs) for needs in used.values())
        print(f"{arrows} arrows between {len(ROOMS)} rooms; one order of all would allow "
              f"{len(ROOMS) * (len(ROOMS) - 1) // 2}")


def check_torch_include(problem, path, number, header):
    own = room(path)
    if not ROOMS[own].torch:
        problem(path, number, f"{own} must not include LibTorch: its stoker_room() is without TORCH")
    elif path.suffix == ".h" and not TORCH_IN_HEADERS.fullmatch(header):
        if not re.fullmatch(TORCH_EXCEPTIONS.get(name(path), ""), header):
            problem(path, number, f"headers include at most <ATen/core/Tensor.h>, not <{header}>")


def check_sources(problem):
    """Every source is named by its room, once."""
    named = [(one.path.parent / source).resolve() for one in ROOMS.values() for source in one.sources]
    for path, count in collections.Counter(named).items():
        if count > 1:
            problem(path, 1, f"is named {count} times by stoker_room()")
    elsewhere = "\n".join(path.read_text() for path in files(["app", "io"], "CMakeLists.txt"))
    for path in files(["app", "io", "models"], ".cpp"):
        if path not in named and path.name not in elsewhere:
            problem(path, 1, "is named by no CMakeLists.txt")


# A FIFO that somebody has put there holds up whoever opens it, so a file is opened by open_regular() or read_if_there() of
# io/core/system/file.h. The kernel's own files are safe; those that read further ones of them, or look first, stand here.
STREAMS_OF_THE_KERNEL = re.compile(r'ifstream(?: \w+)?\((?:fmt::format\()?"/(?:proc|sys|etc)/')
STREAMS = ("app/tools/cold/file_systems.cpp", "app/tools/run_program/started_program.cpp", "io/core/system/usable_cores.cpp")
# O_PATH and O_DIRECTORY wait for nothing. What names a file of /proc, or is a library of its own, stands here.
OPENS = ("io/core/system/file.cpp", "io/profiler/preload", "app/process/start_watch.cpp", "app/tools/run_program/watch", "io/metrics/machine")
WAITS_FOR_NOTHING = re.compile("O_NONBLOCK|O_DIRECTORY|O_PATH|O_TMPFILE")


def check_opens(problem):
    for path in files(["app", "io"], ".h", ".cpp"):
        text = path.read_text()
        for found in re.finditer(r"ifstream(?: \w+)?\([^\n]*|::open\([^;]*?O_RDONLY[^;]*;", text):
            stream = found.group().startswith("if")
            safe = STREAMS_OF_THE_KERNEL.search(found.group()) if stream else WAITS_FOR_NOTHING.search(found.group())
            if not safe and not name(path).startswith(STREAMS if stream else OPENS):
                problem(path, text.count("\n", 0, found.start()) + 1, "waits for a FIFO: use read_if_there() or open_regular()")


def check_interfaces(problem):
    for path in files(["app", "io", "models"], ".h"):
        code = code_only(path.read_text())
        for match in re.finditer(r"\bclass (\w+)[^;{]*\{", code):
            body = code[match.end():code.find("\n};", match.end())]
            count = len(re.findall(r"^  virtual (?!~)", body, re.MULTILINE))
            if count > MAX_METHODS:
                line = code.count("\n", 0, match.start()) + 1
                problem(path, line, f"{match.group(1)} has {count} virtual methods; "
                                    f"at most {MAX_METHODS}")


def check_one_definition(problem):
    """Two types of one name and namespace are one to the linker: it mixes their functions, and says nothing."""
    first = {}
    for path in files(["app", "io", "models"], ".h"):
        code = code_only(path.read_text())
        for match in re.finditer(r"^(?:struct|class|enum class|union) (\w+)(?![\w<])[^;{(<]*\{", code, re.MULTILINE):
            other = first.setdefault(match.group(1), name(path))
            if other != name(path) and name(path) not in NOT_OURS:
                line = code.count("\n", 0, match.start()) + 1
                problem(path, line, f"{match.group(1)} is the name of a type of {other}, too")


def check_registrations(problem):
    """type: tar_shards is found in tar_shards.cpp (a file may register a variant beside it), part: hdf5 in hdf5_check.cpp."""
    for path in files(["app", "io", "models"], ".cpp"):
        types = re.findall(r'^STOKER_REGISTER\(\w+, "(\w+)"', path.read_text(), re.MULTILINE)
        if types and not any(path.stem == one or path.stem.startswith(one + "_") for one in types):
            problem(path, 1, f"registers {', '.join(types)}: name the file after its type")


COMPARED = re.compile(r'\b(?:\w*type(?:\(\))?|loader|device|decoder|dataset|model)\s*[!=]=\s*"(\w+)"')


def check_type_names(problem):
    """A component says by its interface what callers need of it, through wrappers too; its name is the registry's."""
    sources = {path: path.read_text() for path in files(["app", "io", "models"], ".h", ".cpp")}
    registered = {found for text in sources.values()
                  for found in re.findall(r'^STOKER_REGISTER\(\w+, "(\w+)"', text, re.MULTILINE)}
    for path, text in sources.items():
        for match in COMPARED.finditer(text):
            if match.group(1) in registered:
                problem(path, text.count("\n", 0, match.start()) + 1, f"{match.group()}: ask the component, not its name")


MIN_FILE = 60
# Sources, and headers without a source of their name, that stay small, each with its reason.
SMALL = {
    "app/main.cpp": "the only source of the program",
    "app/tools/data/convert/receipt.cpp": "tests/fuzz compiles it without the tiers that journal.cpp needs",
    "python/portable.cpp": "compiled into libstoker_core, with STOKER_PORTABLE alone",
    "io/profiler/counters/arena_reserve.cpp": "throws, so the preloaded library does without it",
    "models/networks/model.cpp": "all of its room but the networks, which are a file each",
    "io/core/config/part_check.h": "includes registry.h, which includes plugin.h, whose source defines it",
    "io/core/device_copies.h": "between two rooms, io/checkpoint and io/device, which include nothing of each other",
    "io/core/stored_array.h": "for interfaces of data sets and decoders; sample_spec.h beside it is compiled as C++17 for CUDA",
    "io/dataset/formats/hdf5/protocol.h": "between two programs",
    "io/decoder/avx512.h": "a pragma and attributes for sources of one set of instructions",
    "io/distributed/c10d.h": "includes LibTorch's c10d, which costs seconds",
    "io/distributed/distributed_options.h": "options apart from the interface peers.h",
    "io/distributed/gloo_declarations.h": "another library's types",
    "io/distributed/nccl/cuda_declarations.h": "another library's types",
    "io/jpeg/avx2_constants.h": "attributes for sources of one set of instructions",
    "io/metrics/clock.h": "in every interface that has times, and needs <chrono> alone",
    "io/sinks/output_file.h": "for the program's log, which needs no figures",
    "models/networks/network.h": "LibTorch's modules cost a compiler 20 s",
    "models/optimizers/warmup.h": "options apart from the interface optimizer.h",
}
# What registers itself is a file of its own.
REGISTERS = re.compile(r"^STOKER_REGISTER\(|^const (?:bool registered|TorchStamp|RegisteredCommand)\b", re.MULTILINE)


def check_small(problem):
    """A file costs its includes, its namespace and a place in the mind: a small one belongs to its neighbour."""
    small = set()
    for path in files(["app", "io", "models", "python"], ".cpp", ".h"):
        text = path.read_text()
        alone = path.suffix == ".cpp" or not any(path.with_suffix(end).exists() for end in (".cpp", ".cu"))
        if alone and text.count("\n") < MIN_FILE and not REGISTERS.search(text):
            small.add(name(path))
            if name(path) not in SMALL:
                problem(path, 1, f"{text.count(chr(10))} lines; at least {MIN_FILE}: which unit is it a part of?")
    for path in sorted(set(SMALL) - small):
        problem(ROOT / path, 1, "is no longer small: SMALL names it")


def check_promises(problem):
    word = re.compile(r"\b(TO" + "DO|FIX" + "ME)\\b")
    for path in files(["app", "io", "models", "python", "tests", "cmake", "configs", "docker"],
                      ".h", ".cpp", ".py", ".sh", ".cmake", ".yaml", ".md", "CMakeLists.txt"):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if word.search(text):
                problem(path, number, "a promise in place of work")


def abi_number():
    text = (ROOT / "io/core/config/plugin.h").read_text()
    return int(re.search(r"#define STOKER_ABI (\d+)", text).group(1))


def abi_hash():
    """Of the interface headers and all that they include, without comments and white space."""
    waiting, seen = list(INTERFACES), {}
    while waiting:
        header = waiting.pop()
        if header not in seen:
            seen[header] = (ROOT / header).read_text()
            waiting += re.findall(r'#include "([^"]+)"', seen[header])
    digest = hashlib.sha256()
    for header in sorted(seen):
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", seen[header], flags=re.DOTALL)
        digest.update("".join(code.split()).encode())
    return digest.hexdigest()


def check_abi(problem):
    recorded_number, recorded_hash = ABI_FILE.read_text().split()
    if (abi_number(), abi_hash()) == (int(recorded_number), recorded_hash):
        return
    step = "" if abi_number() > int(recorded_number) else "raise STOKER_ABI in io/core/config/plugin.h if a release had it, and "
    problem(ABI_FILE, 1, f"the interfaces are not those of ABI {recorded_number}: {step}run "
                         "tests/run update")


def check_tracked(problem):
    """What a benchmark or a run left behind stays out of the repository."""
    for path in tracked():
        size = path.stat().st_size
        if size > MAX_TRACKED_BYTES:
            problem(path, 1, f"{size} bytes; at most {MAX_TRACKED_BYTES}: git rm --cached it, or say why here")


def check_registered(problem):
    """A test that no CMakeLists.txt names is never run."""
    named = {word for path in files(["tests"], "CMakeLists.txt") for word in re.findall(r"\w+", path.read_text())}
    for path in files(["tests"], ".py", ".cpp"):
        if path.stem.endswith("_test") and path.stem not in named:
            problem(path, 1, "no CMakeLists.txt names this test")


def check_mutants(problem):
    """The texts that mutation_check.py replaces; it is run rarely, and would be found stale then."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "tests/checkpoint"))
    import mutation_check
    for mutant, file, *texts in mutation_check.MUTANTS:
        source = ROOT / "io/checkpoint" / (file + ".cpp")
        for text in texts[::2]:
            if not source.exists() or source.read_text().count(text) != 1:
                problem(source, 1, f"the text of mutant '{mutant}' is not in it once: change tests/checkpoint/mutation_check.py")


def main():
    if sys.argv[1:] == ["--update"]:
        ABI_FILE.write_text(f"{abi_number()} {abi_hash()}\n")
        return 0
    problems = []

    def problem(path, line, text):
        problems.append(f"{name(path)}:{line}: {text}")

    count = check_sizes(problem)
    for check in (check_folders, check_commands, check_includes, check_sources, check_seam, check_temporary, check_opens, check_interfaces,
                  check_one_definition, check_registrations, check_type_names, check_small, check_promises, check_abi, check_tracked,
                  check_registered, check_mutants):
        check(problem)
    print("\n".join(problems + [f"{count} sources in {len(ROOMS)} rooms, {len(problems)} violations"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
