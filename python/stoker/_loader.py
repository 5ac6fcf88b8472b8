"""Batches from files to Python."""
from __future__ import annotations

import atexit
import inspect
import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _core
from ._arguments import one_of, refuse_unknown, whole
from ._batch import Batch
from ._log import note, warn
from ._state import mistake

_open: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Threads end before the interpreter does."""
    for loader in list(_open):
        loader.close()
    _core.leave()


def as_config(config: str | os.PathLike[str] | Mapping[str, Any]) -> str | dict[str, Any]:
    """A configuration as the engine takes it: the path of a file, or a dict."""
    return dict(config) if isinstance(config, Mapping) else os.fspath(config)


class Loader:
    """Batches of samples, read and decoded by threads of the engine's own, without the GIL.

    >>> loader = stoker.Loader("arena.yaml", ["loader.workers=4"])
    >>> for epoch in range(loader.epoch, 90):
    ...     for images, labels in loader:
    ...         x, y = torch.from_dlpack(images), torch.from_dlpack(labels)

    Iterating gives one epoch of :class:`Batch`, from its begin; ``loader.epoch`` then is the next one. For one seed the
    batches are the same bytes for every loader, number of workers, format and tier, and those of the program `stoker`.
    Who leaves an epoch early gets the same epoch again, or names another one by :meth:`set_epoch`.

    Parameters
    ----------
    config
        The path of a YAML file of Stoker's, or a dict of the same form. The sections ``run`` (the seed), ``plugins``,
        ``storage``, ``dataset``, ``decoder`` and ``loader`` count, and the others are not looked at.
    overrides
        As on the command line: ``["loader.workers=4", "decoder.output=float32"]``.
    split
        "train", or "test": in the order of the data set, not augmented, every sample once.
    rank, world
        This process's part of each batch: ``loader.batch_size`` is that of all ranks together.
    pin_memory
        Batches lie in pinned memory of PyTorch's, from which copies to a GPU run beside its work.
    allocate
        A function that gives that memory instead: ``allocate(bytes)`` returns a uint8 array of that size (DLPack, on
        the host). It is called for each batch ahead, then only where batches are held.
    device
        Such as "cuda": batches are PyTorch tensors on that device. They are copied from pinned memory on a stream of
        their own, for which PyTorch's current stream waits.
    max_held
        Bytes of batches that the caller may hold at once; four batches always. Beyond it ``next`` is an Error, so that
        ``list(loader)`` does not take all memory.

    Raises
    ------
    stoker.Error
        With the message and the code of the program: a mistake in the configuration (2), a file that is not there (3),
        bad samples beyond ``dataset.on_error`` (4), a tier that fails (5).

    Ctrl-C ends a wait for a batch within a tenth of a second, and none is lost by it. A loader belongs to the process that
    made it: after a fork the child's own copy raises. Threads may take batches from one iterator; each gets others.
    """

    def __init__(
        self,
        config: str | os.PathLike[str] | Mapping[str, Any],
        overrides: Sequence[str] = (),
        *,
        split: str = "train",
        rank: int = 0,
        world: int = 1,
        pin_memory: bool = False,
        allocate: Callable[[int], Any] | None = None,
        device: Any = None,
        max_held: int = 1 << 30,
    ) -> None:
        self._watch: Any = None
        self._to_device: Any = None
        if device is not None or pin_memory:
            from . import _torch

            allocate = allocate or _torch.pinned
            if device is not None:
                self._to_device = _torch.Copies(device)
        self._iteration = 0
        self._resumed = False
        if isinstance(overrides, str):
            raise mistake(f"overrides must be a list such as [{overrides!r}]")
        world = whole("world", world, 1)
        rank = whole(f"rank of {world} ranks", rank, 0, world - 1)
        max_held = whole("max_held", max_held, 0)
        self._core = _core.Loader(as_config(config), list(overrides), split, rank, world, allocate, max_held, note)
        _open.add(self)
        if self.samples == 0:
            warn(f"the split {split!r} has no samples: iterating gives no batch")

    @classmethod
    def of_folder(
        cls,
        root: str | os.PathLike[str],
        *,
        size: int = 224,
        batch_size: int = 64,
        num_workers: int | None = None,
        shuffle: bool = True,
        drop_last: bool = True,
        seed: int = 1,
        augment: str | None = None,
        output: str = "float32",
        antialias: bool = True,
        **keywords: Any,
    ) -> Loader:
        """A loader of a folder of class folders, as ``torchvision.datasets.ImageFolder`` takes it, without a YAML file.

        Parameters
        ----------
        root
            ``root/CLASS/*.jpg``; or ``root/train/CLASS/*.jpg``, beside which ``root/val/CLASS/*.jpg`` is the split "test". The
            parts are known by their names as `stoker try` knows them: ``valid``, ``validation`` and ``test`` test, too. Where
            some folders of images are called otherwise, all of them are classes, ``train`` included.
        size
            Width and height of the images, in pixels.
        batch_size, num_workers, shuffle, drop_last
            As PyTorch's DataLoader takes them. ``num_workers`` are threads; None: one for each core; 0: the batches are made by
            the thread that iterates, one after the other. The defaults are those of a training: DataLoader's own are 1, 0,
            False and False.
        augment
            None: the whole image, resized. "flip": also mirrored at random. "imagenet": as ImageNet is trained on,
            RandomResizedCrop and mirrored at random; tests take the square in the middle.
        output
            "float32": [N, C, H, W], normalised by ImageNet's mean and deviation. "uint8": [N, H, W, C], levels.
        antialias
            Resize the whole image, as Pillow and torchvision do; False: from two pixels in each direction, of an image that
            may have been decoded at 1/2, 1/4 or 1/8 of its size, which is faster (``overrides=["decoder.scaled_decode=true"]``
            decodes so with antialias, too).
        keywords
            Those of :class:`Loader`: ``split``, ``rank``, ``world``, ``pin_memory``, ``device``, ...

        :meth:`yaml` gives the configuration that the loader stands for.
        """
        own = inspect.signature(cls.of_folder).parameters
        rest = [name for name in inspect.signature(Loader).parameters if name != "config"]
        refuse_unknown("Loader.of_folder()", keywords, [*(name for name in own if name != "keywords"), *rest])
        return cls(
            folder_config(root, size, batch_size, num_workers, shuffle, drop_last, seed, augment, output, antialias),
            **keywords,
        )

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration gives; goes up when an iteration comes to its end."""
        return self._core.place[0]

    def set_epoch(self, epoch: int) -> None:
        """The next iteration gives this epoch, from its begin."""
        self._move(whole("epoch", epoch, 0), 0)

    def __iter__(self) -> Iterator[Batch]:
        epoch, batch = self._core.place
        if not self._resumed and batch != 0:
            self._core.start(epoch, 0)
        self._resumed = False
        self._iteration += 1
        return _Iteration(self, self._iteration, epoch)

    def __len__(self) -> int:
        """Batches in an epoch, for each rank."""
        return self._core.batches

    @property
    def samples(self) -> int:
        """Samples of the split, of all ranks."""
        return self._core.samples

    @property
    def batch_size(self) -> int:
        """Samples in a batch, of all ranks together."""
        return self._core.batch_size

    @property
    def classes(self) -> list[str]:
        """The names of the classes by label."""
        return self._core.classes

    def yaml(self) -> str:
        """The configuration with every option, as a YAML file of the program's."""
        return self._core.yaml()

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, between two batches of this process: a dict for JSON.

        The protocol of torchdata's StatefulDataLoader. Bad samples are counted on from there (dataset.on_error.budget), as
        ``skipped`` and ``tolerated`` say. ``batches`` says which batches these are: the options that change them, the classes,
        and hashes of the samples. The first call goes through the list of samples (half a second for a million). The state holds for any number of workers, format and tier, and for any
        number of ranks, but within an epoch of an order that deals files to ranks.
        """
        epoch, batch = self._core.place
        return {"epoch": epoch, "batch": batch, "batches": json.loads(self._core.identity()), **json.loads(self._core.failures())}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on from there.

        stoker.Error: it is from within an epoch of other batches (order, shuffling, seed, augmentation, classes, labels, ...).
        At the begin of an epoch, and for other files of the same labels (another format), that is a remark.
        """
        if "epoch" not in state or "batch" not in state:
            raise mistake(f"a loader's state has 'epoch' and 'batch' (Loader.state_dict()), and this one has {sorted(state)}")
        epoch, batch = whole("the state's epoch", state["epoch"], 0), whole("the state's batch", state["batch"], 0)
        if "batches" in state:
            self._core.check(json.dumps(state["batches"]), batch != 0)
        elif batch != 0:
            raise mistake("the loader's state does not say of which batches it is: it can go on only from the begin of an epoch")
        if "skipped" in state:
            self._core.resume(json.dumps({key: state[key] for key in ("skipped", "tolerated") if key in state}))
        self._move(epoch, batch)

    def _move(self, epoch: int, batch: int) -> None:
        self._core.start(epoch, batch)
        self._iteration += 1
        self._resumed = True

    def close(self) -> None:
        """Ends the threads. Takes no longer than the system calls that are under way. Arrays stay."""
        if self._watch is not None:
            self._watch._end("")
        _open.discard(self)
        self._core.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a stoker.Loader can not be sent to another process: make one there")


class _Iteration:
    """One epoch of a loader, or what is left of it."""

    def __init__(self, loader: Loader, number: int, epoch: int) -> None:
        self._loader = loader
        self._number = number
        self._epoch = epoch
        self._over = False

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        loader = self._loader
        if self._over:
            raise StopIteration
        if self._number != loader._iteration:
            raise RuntimeError("another iteration of this loader has begun, or it was moved: iterate anew")
        watch = loader._watch
        if watch is not None:
            watch._wait()
        made = loader._core.next(self._epoch)
        if watch is not None:
            watch._took(made)
        if made is None:
            self._over = True
            raise StopIteration
        batch = Batch(made)
        if loader._to_device is not None:
            batch = loader._to_device(batch)
        if watch is not None:
            watch._begins()
        return batch


def folder_config(
    root: str | os.PathLike[str],
    size: int,
    batch_size: int,
    num_workers: int | None,
    shuffle: bool,
    drop_last: bool,
    seed: int,
    augment: str | None,
    output: str,
    antialias: bool,
) -> dict[str, Any]:
    """What Loader.of_folder stands for."""
    augments: dict[str | None, dict[str, Any]] = {
        None: {},
        "flip": {"augment": {"flip": True}},
        "imagenet": {"augment": {"flip": True, "random_resized_crop": {}}, "fit": "center_crop"},
    }
    one_of("augment", augment, augments)
    one_of("output", output, ("float32", "uint8"))
    root = os.fspath(root)
    train, test, unlabelled = _core.folder_parts(root)
    dataset: dict[str, Any] = {"type": "image_folder", "storage": "data"}
    if train:
        dataset["folder"] = train
    if test:
        dataset["test_folder"] = test
    elif unlabelled:
        note(f"the images of {', '.join(unlabelled)} lie in no folders of classes: there is no test split")
    loader: dict[str, Any] = {
        "type": "prefetched",
        "batch_size": whole("batch_size", batch_size, 1),
        "shuffle": bool(shuffle),
        "drop_last": bool(drop_last),
    }
    if num_workers is None:
        loader["workers"] = "auto"
    elif whole("num_workers", num_workers, 0) == 0:
        loader["type"] = "sync"
    else:
        loader["workers"] = whole("num_workers", num_workers, 1)
    decoder: dict[str, Any] = {"type": "auto", "size": whole("size", size, 1), "output": output, **augments[augment]}
    decoder["resize"] = "antialias" if antialias else "bilinear"
    if antialias:
        decoder["scaled_decode"] = False
    return {
        "run": {"seed": whole("seed", seed, 0)},
        "storage": {"data": {"type": "posix", "root": root}},
        "dataset": dataset,
        "decoder": decoder,
        "loader": loader,
    }
