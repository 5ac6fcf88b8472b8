"""kill -9 of the two ranks of a training that saves by torch.distributed.checkpoint through stoker.dcp, --kills times.

Nothing that was acknowledged is lost, and no set is torn: else it says so. The test tests/python/dcp_test.py does it a
few times. By torchrun's agent, which starts the ranks again, forked so that PyTorch is imported once: of both ranks, or
of one, whereupon the agent ends the other; four of five in or between saves, the fifth from the start of the ranks on.
Each life begins with a look at all bytes of all sets. --by forks: both ranks, without an agent. Needs a Python with
torch 2.6 or newer.

PYTHONPATH=build/python python3 tests/python/dcp_kills.py --dir DIRECTORY [--kills 1000] [--seed 1]
"""
import argparse
import logging
import os
import pathlib
import random
import shutil
import signal
import time
import warnings

import dcp_ranks


def live(folder, kind):
    """A life of a rank."""
    import torch.distributed as dist
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # not those of the agent
    rank, acknowledged = int(os.environ["RANK"]), dcp_ranks.Acknowledged(folder)
    with open(f"{folder}/lives", "a", encoding="utf-8") as lives:
        lives.write(f"{os.getpid()}\n")
    if rank == 0:
        try:
            acknowledged.require(dcp_ranks.steps_of_sets(folder, kind))
        except BaseException as error:
            pathlib.Path(folder, "violation").write_text(f"{type(error).__name__}: {error}")
            raise
    if os.path.exists(f"{folder}/enough"):
        return
    # PyTorch 2.11 gives a rank that is started again the store of the life before, where Gloo finds the addresses of
    # the dead.
    store, rank, world = next(dist.rendezvous("env://"))
    store = dist.PrefixStore(os.environ["TORCHELASTIC_RESTART_COUNT"], store)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    dcp_ranks.save_until_killed(rank, folder, kind, acknowledged.path)


def kill_all(folder, kills, chance):
    """The ranks of an agent, from a process of its own."""
    begin, early, acknowledged = time.monotonic(), 0, dcp_ranks.Acknowledged(folder)
    place, saved = pathlib.Path(folder), lambda: len(acknowledged.steps())

    def lives():
        return [int(line)
                for line in (place / "lives").read_text().split("\n")[:-1]] if (place / "lives").exists() else []

    def wait(what):
        give_up = time.monotonic() + dcp_ranks.PATIENCE_S
        while not what():
            assert not (place / "violation").exists(), (place / "violation").read_text()
            assert time.monotonic() < give_up, "it saves nothing"
            time.sleep(0.002)
    for done in range(1, kills + 1):
        wait(lambda: len(lives()) == 2 * done)
        before = saved()
        if chance.random() < 0.2:
            time.sleep(chance.uniform(0, 0.6))
        else:
            wait(lambda: saved() > before)
            time.sleep(chance.uniform(0, 0.1))
        early += saved() == before
        ranks = lives()[-2:]
        chance.shuffle(ranks)
        if done == kills:
            (place / "enough").touch()
        for rank in ranks[:chance.choice((1, 2))]:
            os.kill(rank, signal.SIGKILL)
        if done % 50 == 0 or done == kills:
            print(f"{done} kills, {early} before the first save of a life, {saved()} sets acknowledged, "
                  f"{time.monotonic() - begin:.0f} s", flush=True)


def by_agent(folder, kind, kills, chance):
    """Kills under one agent; its last life finds that it was enough."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch
    logging.disable(logging.CRITICAL)  # of the agent, which says much about each of them
    os.makedirs(folder)
    agent, killer = os.getpid(), os.fork()
    if killer == 0:
        try:
            kill_all(folder, kills, chance)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001
            print(f"{kind}: {type(error).__name__}: {error}", flush=True)
            os.kill(agent, signal.SIGTERM)
            os._exit(1)
    config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, rdzv_backend="c10d", rdzv_endpoint="localhost:0",
                          run_id=kind, max_restarts=kills, start_method="fork", monitor_interval=0.01)
    elastic_launch(config, live)(folder, kind)
    assert os.waitstatus_to_exitcode(os.waitpid(killer, 0)[1]) == 0, "a set was lost or torn, or nothing was saved"
    return len(dcp_ranks.Acknowledged(folder).steps())


def by_forks(folder, kind, kills, chance):
    ranks = dcp_ranks.Kills(folder, kind, chance)
    for _ in range(kills):
        ranks.kill_once()
    return len(ranks.acknowledged.steps())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--by", choices=("agent", "forks"), default="agent")
    options = parser.parse_args()
    if dcp_ranks.MISSING:
        raise SystemExit(dcp_ranks.MISSING)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    warnings.filterwarnings("ignore")  # dcp.load says that the look at the sets is of one process
    begin, how = time.monotonic(), by_agent if options.by == "agent" else by_forks
    for number, kind in enumerate(("direct", "burst_buffer")):
        folder, count = f"{options.dir}/kills-{kind}", (options.kills + number) // 2
        shutil.rmtree(folder, ignore_errors=True)
        sets = how(folder, kind, count, random.Random(options.seed + number))
        print(f"{kind}: {count} kills, {sets} sets acknowledged, 0 lost, 0 torn, {time.monotonic() - begin:.0f} s",
              flush=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
