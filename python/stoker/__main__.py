"""The command `stoker`: the program that came along; where the package stoker-train is installed, its own, which also trains."""
import importlib.util
import os
import pathlib
import sys


def main():
    packages = [importlib.util.find_spec(name) for name in ("stoker_train", "stoker")]
    folders = [pathlib.Path(folder) for spec in packages if spec for folder in spec.submodule_search_locations]
    programs = [folder / "bin/stoker" for folder in folders]
    program = next(filter(pathlib.Path.exists, programs), programs[-1])
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
