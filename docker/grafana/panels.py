"""What the dashboards show: rows, panels, units, help, queries. dashboard.py makes Grafana's JSON of it.

"Whole run" figures come from the counters' totals and not from rates, so they equal summary.json.
"""
from panel import Panel, gauge, lines, stack, stat
from queries import (EVER, INFO, RATE, ever, in_run, largest, last_info, mean, newest, of, of_job, of_runs, quantile, rate,
                     run_rate, run_share, share, shares, total, whole)

SEGMENTS, OBSERVED = "segments_seconds_total", "device_observed_seconds_total"
EXPOSED = "exposed_io_seconds_total"
IO_SHARE, DEVICE_IDLE = "io_share_ratio", "device_idle_ratio"
IDLE, LATENCY = "device_idle_seconds_total", "tiers_duration_seconds"
WAITED, STALLED, COMPUTED = (f'{SEGMENTS}{{segment="{name}"}}' for name in ("data_wait", "checkpoint_stall", "compute"))
DATA_IDLE, STAGES = IDLE + '{cause="data"}', 'loaders_stages_duration_seconds_sum{split="train",stage!="wait"}'
READ, DELIVERED = 'loaders_read_bytes_total{split="train"}', 'loaders_storage_bytes_total{split="train"}'
STEPS_DONE, IMAGES = "step_duration_seconds_count", "images_total"
PRESSURE = 'system_pressure_seconds_total{kind="some"}'
WORKERS, PLANNED = total(of('loaders_workers{split="train"}')), f"max({of('steps_planned')})"
PARTS = "checkpoints_parts_duration_seconds"
SHARE = {"max": 1, "steps": (0.05, 0.2)}
MANY = "a run of many ranks"
EMULATED = "nothing on an emulated device, which computes nothing"
NO_FILES = "nothing where the data are no files of this machine, as of an emulated tier or a bucket"
NVML, DCGM = "an NVIDIA GPU (NVML)", "an NVIDIA GPU and dcgm-exporter (compose's profile gpu)"

OVERVIEW = [
    stat("Exposed I/O share", "percentunit",
         "Whole run: share of the device's time that waiting for data cost (stoker_exposed_io_seconds_total / "
         "stoker_device_observed_seconds_total); exposed_io_share of summary.json. Red from 20 %. A wait that is hidden "
         "behind queued steps is not in it.", share(EXPOSED, OBSERVED, whole), **SHARE),
    stat("Device idle", "percentunit",
         "Whole run: share of the device's (GPU's) own time without work (stoker_device_idle_ratio); device.idle_share of "
         "summary.json. Red from 20 %.", f"avg({ever(DEVICE_IDLE)})", wide=2, **SHARE),
    stat("Main cause of idle", "percentunit",
         "Whole run: what cost the device most of its time (stoker_device_idle_seconds_total / "
         "stoker_device_observed_seconds_total). data: the batch was late; h2d: its copy; checkpoint: training stood "
         "still for one; host: all else.", largest(IDLE, "cause", OBSERVED), "{{cause}}", text="both", **SHARE),
    stat("I/O share", "percentunit",
         "Whole run: share of the trainer's time in which it was blocked for its next batch "
         "(stoker_io_share_ratio); io_share of summary.json. On an asynchronous device a wait can hide behind queued "
         "work: see Exposed I/O share.", f"avg({ever(IO_SHARE)})", max=1, wide=2),
    stat("Busiest loader stage", "percentunit",
         "Whole run: the stage with most of the loader's working time and its share "
         "(stoker_loaders_stages_duration_seconds of the training set, summed over threads). To blame where the device "
         "waits for data.", largest(STAGES, "stage", STAGES), "{{stage}}", text="both", max=1),
    stat("Busiest tier", "percentunit",
         "Whole run: the storage tier and operation with most of the time that all threads spent in tiers, and its "
         "share (stoker_tiers_duration_seconds_sum).",
         largest(LATENCY + "_sum", "tier, op", LATENCY + "_sum"), "{{tier}} {{op}}", text="both", max=1),
    stat("Checkpoint stall", "percentunit",
         "Whole run: share of the trainer's time in which it stood still for checkpoints "
         "(stoker_segments_seconds_total: checkpoint_stall / all).", share(STALLED, SEGMENTS, whole), **SHARE),
    stat("Last checkpoint blocked for", "s",
         "How long the newest save kept the trainer (what stoker_checkpoints_parts_duration_seconds grew by last).",
         newest(PARTS, "blocked"), empty="no checkpoint"),
    gauge("AU", "Accelerator utilisation as MLPerf Storage defines it: busy / total without the first step "
          "(stoker_device_au_ratio); device.au of summary.json. MLPerf asks for 90 % (ResNet-50, 3D U-Net) or 70 % "
          "(CosmoFlow).", f"min({ever('device_au_ratio')})", steps=(0.7, 0.9), good="high", wide=2),
    stat("Status", "short", "What the run does, or how it ended (stoker_run_status).",
         f"topk(1, {ever('run_status', 'timestamp')})", "{{status}}", text="name"),
    gauge("Steps done", "Finished steps, those before a resume too, of those planned (stoker_steps, "
          "stoker_steps_planned).", f"max({ever('steps')}) / max({ever('steps_planned')})"),
    stat("Time left", "s", "Steps left / steps per second, now (stoker_steps_planned, stoker_steps, "
         "stoker_step_duration_seconds); evaluations come on top.",
         f"({PLANNED} - max({of('steps')})) / ({rate(STEPS_DONE)} > 0)", empty="not training"),
    stat("Images per second", "short", "Training images per second, now (stoker_images_total).",
         rate(IMAGES), empty="not training", trend=True),
    stat("Data from the page cache", "percentunit",
         "Whole run: share of the bytes that training read which no block device delivered "
         "(1 - stoker_loaders_storage_bytes_total / stoker_loaders_read_bytes_total). Near 100 % the run measured memory "
         "and not storage; network file systems have no block device. Of an emulated tier it is that of the files below.",
         f"clamp_min(1 - {share(DELIVERED, READ, whole)}, 0)", max=1, empty="nothing read"),
    stat("Steps at risk", "short", "Steps since the newest checkpoint on the tier where sets stay: lost if this machine dies "
         "(stoker_checkpoints_steps_at_risk).", f"max({ever('checkpoints_steps_at_risk')})", empty="no checkpoint"),
    stat("Since the last progress", "s", "Time since a step, a batch of an evaluation or a phase ended "
         "(stoker_since_progress_seconds).", f"max({of('since_progress_seconds')})", empty="not running",
         steps=(60, 120)),
    stat("Targets down", "short", "Addresses that Prometheus knows and cannot reach (up).", "count(up{@} == 0) or vector(0)"),
    stack("Why the device is idle", "percentunit", "Device time without work by cause, of the device's time "
          "(stoker_device_idle_seconds_total / stoker_device_observed_seconds_total).",
          ("{{cause}}", shares(IDLE, "cause", OBSERVED)), max=1, wide=8),
    stack("Where the trainer's time goes", "percentunit", "Time of the trainer's thread by segment; together all of it "
          "(stoker_segments_seconds_total).", ("{{segment}}", shares(SEGMENTS, "segment", SEGMENTS)), max=1, wide=8),
    stack("What the loader's threads do", "short", "Threads busy by stage, on average "
          "(stoker_loaders_stages_duration_seconds of the training set), and the workers there are "
          "(stoker_loaders_workers): more cannot be busy.",
          ("{{stage}}", rate(STAGES, "stage")), ("workers", WORKERS), wide=8, alone="workers"),
    stack("What the tiers do", "short", "Threads inside an operation of a tier, on average "
          "(stoker_tiers_duration_seconds_sum).", ("{{tier}} {{op}}", rate(LATENCY + "_sum", "tier, op")), wide=8),
    Panel("stat", "Last checkpoint", "s",
          "The newest save by part: what the trainer waited for, the copy to staging memory, writing, until it was "
          "durable on the first tier, and the newest drain to the tier where sets stay "
          "(stoker_checkpoints_parts_duration_seconds).",
          ("training blocked", newest(PARTS, "blocked")),
          *((part, newest(PARTS, name))
            for part, name in (("snapshot", "snapshot"), ("write", "write"), ("until durable", "save"))),
          ("drain", newest(PARTS, "drain")), text="both", empty="no checkpoint", wide=8, high=8),
    lines("Images per second, by phase", "short", "Finished training and evaluation images (stoker_images_total, "
          "stoker_evaluation_images_total).", ("train", rate(IMAGES)), ("eval", rate("evaluation_images_total")), wide=8),
]

TRAINING = [
    lines("Loss", "short", f"Of the newest step whose loss was read (stoker_loss); {EMULATED}.",
          ("loss", f"avg({of('loss')})"), empty=EMULATED),
    lines("Accuracy", "percentunit", f"Of the newest evaluation (stoker_evaluation_accuracy_ratio); {EMULATED}.",
          ("{{measure}}", f"avg by (measure) ({of('evaluation_accuracy_ratio')})"), max=1,
          empty=f"no evaluation yet, or {EMULATED}"),
    lines("Learning rate", "short", f"Of the newest step (stoker_learning_rate); {EMULATED}.",
          ("learning rate", f"avg({of('learning_rate')})"), empty=EMULATED),
    lines("Steps per second", "short", "Training steps and evaluation batches (stoker_step_duration_seconds, "
          "stoker_evaluation_batches_total).", ("train", rate(STEPS_DONE)), ("eval", rate("evaluation_batches_total"))),
    lines("Epochs", "short", "Finished epochs (stoker_epochs).", ("epochs", f"max({of('epochs')})")),
    lines("Losses that are not finite", "short", "Steps whose loss was NaN or infinite, so far "
          "(stoker_nonfinite_losses_total).", ("not finite", total(of("nonfinite_losses_total")))),
]

STEPS = [
    lines("Step time", "s", "Quantiles of the wall time of a step (stoker_step_duration_seconds).",
          *((f"p{q}", quantile(q / 100, "step_duration_seconds")) for q in (50, 99))),
    lines("Wait for a batch", "s", "Quantiles of the time the trainer blocked for its next batch "
          "(stoker_data_wait_seconds).", *((f"p{q}", quantile(q / 100, "data_wait_seconds")) for q in (50, 99))),
    Panel("heatmap", "Waits for a batch", "s", "How many waits were how long (stoker_data_wait_seconds).",
          ("{{le}}", total(f"increase({of('data_wait_seconds_bucket')}{RATE})", "le"))),
    lines("Exposed and felt", "percentunit", "Trainer blocked for data, of its time; device idle for data, of its "
          "time; and what of the wait the device did not feel as it had queued work "
          "(stoker_segments_seconds_total; stoker_device_idle_seconds_total / "
          "stoker_device_observed_seconds_total).",
          ("trainer waited (I/O share)", share(WAITED, SEGMENTS)), ("device idle for data", share(DATA_IDLE, OBSERVED)),
          ("wait not felt", f"clamp_min({share(WAITED, SEGMENTS)} - {share(DATA_IDLE, OBSERVED)}, 0)"), max=1),
    lines("Device busy", "percentunit", "Share of the device's time with work, by engine; copies run beside compute on "
          "a GPU (stoker_device_busy_seconds_total, stoker_device_copy_seconds_total / "
          "stoker_device_observed_seconds_total).",
          *((engine, share(f"device_{name}_seconds_total", OBSERVED))
            for engine, name in (("compute", "busy"), ("copy", "copy"))), max=1),
    lines("Goodput", "percentunit", "Share of the trainer's time in compute (stoker_segments_seconds_total).",
          ("compute", share(COMPUTED, SEGMENTS)), max=1),
    stat("Closure error", "percentunit", "How far the segments are from adding up to the loop's wall time, so far "
         "(stoker_closure_error_ratio). Above 0.1 % the shares are not to be trusted.",
         f"max({ever('closure_error_ratio')})", steps=(0.0005, 0.001), decimals=4),
    stat("Loop time", "s", "Wall time of the training loop (stoker_wall_seconds_total).",
         f"max({ever('wall_seconds_total')})"),
    Panel("table", "How device time is measured", "none", "events: CUDA events; host: the host's clock around "
          "the step; emulated: exact (stoker_run_info).",
          ("", total(last_info(), "device, timing_method")),
          columns={"device": "Device", "timing_method": "Method"}),
]

TRAIN, BY_IMAGE = '{split="train"}', '{split="train",stage=~"read|decode"}'
LOADER = [
    lines("Capacity of a stage", "short", "Images per second if all workers did only this stage "
          "(stoker_loaders_stages_duration_seconds * stoker_loaders_workers). The lower "
          "one limits the loader.",
          ("{{stage}}", f"{rate('loaders_stages_duration_seconds_count' + BY_IMAGE, 'stage')} / "
           f"({rate('loaders_stages_duration_seconds_sum' + BY_IMAGE, 'stage')} > 0) * on () group_left () {WORKERS}")),
    lines("Time of a stage (p99)", "s", "For one item (stoker_loaders_stages_duration_seconds).",
          ("{{stage}}", quantile(0.99, "loaders_stages_duration_seconds", "stage", TRAIN))),
    lines("Workers", "short", "Those that there are and those that work, at the time of the scrape "
          "(stoker_loaders_workers, stoker_loaders_workers_busy).",
          ("{{split}}", total(of("loaders_workers"), "split")),
          ("{{split}} busy", total(of("loaders_workers_busy"), "split"))),
    lines("Loader time hidden", "percentunit", "Share of the loader's time per worker that training did not wait for "
          "(stoker_segments_seconds_total, stoker_loaders_stages_duration_seconds, stoker_loaders_workers). 0: nothing "
          "overlaps.", ("hidden", f"clamp_min(1 - {rate(WAITED)} / ({rate(STAGES)} / ({WORKERS} > 0)), 0)"), max=1),
    lines("Queue fill", "percentunit", "Batches in a queue, of its capacity, at the time of the scrape "
          "(stoker_loaders_queues_items / stoker_loaders_queues_capacity).",
          ("{{queue}} {{split}}", f"{total(of('loaders_queues_items'), 'queue, split')} / "
           f"{total(of('loaders_queues_capacity'), 'queue, split')}"), max=1),
    lines("Data readiness", "percentunit", "Share of the time in which a queue was not empty "
          "(1 - stoker_loaders_queues_empty_seconds_total / stoker_loaders_queues_observed_seconds_total), and in which it was full "
          "(stoker_loaders_queues_full_seconds_total). Low readiness: the loader is the limit.",
          *((f"{{{{queue}}}} {word}", f"{sign}{rate(f'loaders_queues_{state}_seconds_total' + TRAIN, 'queue')} / "
             f"{rate('loaders_queues_observed_seconds_total' + TRAIN, 'queue')}")
            for word, state, sign in (("ready", "empty", "1 - "), ("full", "full", ""))), max=1),
    lines("Blocked at a queue", "short", "Workers with nothing left to fill, and the trainer without a batch, on average "
          "(stoker_loaders_stages_duration_seconds of wait, stoker_segments_seconds_total of data_wait).",
          ("workers", rate('loaders_stages_duration_seconds_sum{split="train",stage="wait"}')), ("trainer", rate(WAITED))),
    lines("Samples that failed", "short", "Errors and left-out samples so far, by reason (stoker_loaders_errors_total, "
          "stoker_loaders_skipped_total), and damaged ones that were used (stoker_loaders_tolerated_total).",
          ("{{split}} error {{reason}}", total(of('loaders_errors_total'), 'split, reason')),
          ("{{split}} skipped {{reason}}", total(of('loaders_skipped_total'), 'split, reason')),
          ("{{split}} tolerated", total(of('loaders_tolerated_total'), 'split'))),
    stat("First batch", "s", "From the start of the loop (stoker_first_batch_seconds).",
         f"max({ever('first_batch_seconds')})"),
]

STORAGE = [
    lines("Asked for and delivered", "Bps", "Bytes the loader asked for and bytes that a block device delivered for "
          "its threads; the difference is the page cache (stoker_loaders_read_bytes_total, "
          "stoker_loaders_storage_bytes_total).",
          ("asked {{split}}", rate("loaders_read_bytes_total", "split")),
          ("delivered {{split}}", rate("loaders_storage_bytes_total", "split"))),
    lines("Page cache of the data set", "percentunit", "Share of the files' bytes in memory, by a sample of the files, "
          "before the first epoch and after the newest one (stoker_page_cache_resident_before_ratio, "
          f"stoker_page_cache_resident_ratio); {NO_FILES}.", ("before", f"avg({of('page_cache_resident_before_ratio')})"),
          ("now", f"avg({of('page_cache_resident_ratio')})"), max=1, empty=NO_FILES),
    lines("Bytes by tier", "Bps", "As the program asked for them (stoker_tiers_bytes_total).",
          ("{{tier}} {{op}}", rate("tiers_bytes_total", "tier, op"))),
    lines("Operations by tier", "ops", "Finished operations (stoker_tiers_duration_seconds).",
          ("{{tier}} {{op}}", rate("tiers_duration_seconds_count", "tier, op"))),
    lines("Latency by tier (p99)", "s", "As the caller saw it (stoker_tiers_duration_seconds).",
          ("{{tier}} {{op}}", quantile(0.99, LATENCY, "tier, op"))),
    lines("Mean latency by tier", "s", "As the caller saw it (stoker_tiers_duration_seconds).",
          ("{{tier}} {{op}}", mean(LATENCY, "tier, op"))),
    lines("In flight", "short", "Operations that have not ended, at the time of the scrape (stoker_tiers_in_flight).",
          ("{{tier}}", total(of("tiers_in_flight"), "tier"))),
    lines("Errors of tiers", "short", "Operations that failed so far (stoker_tiers_errors_total).",
          ("{{tier}} {{op}} {{errno}}", total(of('tiers_errors_total'), 'tier, op, errno'))),
    Panel("table", "Tiers", "none", "The tiers of this run. An emulated one keeps to rates and latencies that were "
          "given to it (stoker_tier_info).", ("", total(ever("tier_info"), "tier, type, emulated")),
          columns={"tier": "Tier", "type": "Type", "emulated": "Emulated"}),
]

CHECKPOINTS = [
    lines("Saves", "short", "So far, by result (stoker_checkpoints_saved_total, stoker_checkpoints_failed_total, "
          "stoker_checkpoints_skipped_total, stoker_checkpoints_replaced_total). skipped, replaced: the one before was "
          "not done.", *((result, total(of(f"checkpoints_{result}_total")))
                         for result in ("saved", "failed", "skipped", "replaced"))),
    lines("Time of a save by part (p95)", "s", "The trainer's and that of the threads behind it "
          "(stoker_checkpoints_parts_duration_seconds; blocked: the trainer's).",
          ("{{part}}", quantile(0.95, PARTS, "part"))),
    lines("Trainer blocked for a save (mean)", "s", "Of the saves in the interval "
          "(stoker_checkpoints_parts_duration_seconds).", ("blocked", mean(PARTS, labels='{part="blocked"}'))),
    lines("Newest steps", "short", "Newest finished step, newest one saved, newest one on the tier where sets stay "
          "(stoker_steps, stoker_checkpoints_saved_step, stoker_checkpoints_durable_step).",
          *((word, f"max({of(name)})") for word, name in
            (("finished", "steps"), ("saved", "checkpoints_saved_step"), ("durable", "checkpoints_durable_step")))),
    lines("Since the last save", "s", "Age of the newest successful save "
          "(stoker_checkpoints_last_save_timestamp_seconds).",
          ("age", f"time() - max({of('checkpoints_last_save_timestamp_seconds')})")),
    lines("Sets waiting for the drain", "short", "On the fast tier only (stoker_checkpoints_drains_left).",
          ("waiting", total(of("checkpoints_drains_left")))),
    lines("Drain", "Bps", "Bytes moved to the slow tier (stoker_checkpoints_parts_bytes_total).",
          ("drained", rate('checkpoints_parts_bytes_total{part="drain"}'))),
    lines("Time of a drain", "s", "For a set, of those that ended in the interval (stoker_checkpoints_parts_duration_seconds).",
          ("mean", mean(PARTS, labels='{part="drain"}'))),
    lines("Drains and retries", "short", "So far (stoker_checkpoints_drained_total, stoker_checkpoints_drain_retries_total).",
          ("drained", total(of("checkpoints_drained_total"))), ("retries", total(of("checkpoints_drain_retries_total")))),
    stat("Size of a set", "bytes", "Of the newest one (stoker_checkpoints_set_bytes).",
         f"max({ever('checkpoints_set_bytes')})", empty="no checkpoint"),
    stat("Degraded", "short", "1: training goes on without a tier that fails or hangs (stoker_checkpoints_degraded).",
         f"max({ever('checkpoints_degraded')})", steps=(0.5, 1), empty="no checkpoint"),
    stat("Restores", "short", "State read back at the start of this process (stoker_checkpoints_parts_duration_seconds).",
         whole(PARTS + '_count{part="restore"}')),
]

RESTARTS = "a training that was interrupted and goes on"
GOODPUT = [
    stat("Goodput", "percentunit",
         "Share of the training's wall time, over all its processes, in steps that count, without what they waited for "
         "(stoker_goodput_effective_ratio); goodput.effective_share of summary.json.",
         f"max({ever('goodput_effective_ratio')})", max=1),
    stack("Where the training's time went", "percentunit", "Over all its processes; together all of it. lost: steps that were "
          "done again after a kill; down: between two processes; start: until a process's first step "
          "(stoker_goodput_parts_seconds / stoker_goodput_wall_seconds).",
          ("{{part}}", f"max by (part) ({of('goodput_parts_seconds')}) / on () group_left () max({of('goodput_wall_seconds')})"),
          max=1, wide=12),
    stat("Lost steps", "short", "Steps that were done and had to be done again, in all processes "
         "(stoker_goodput_lost_steps).", f"max({ever('goodput_lost_steps')})"),
    stat("Time to start", "s", "From the begin of the newest process to its first step (stoker_goodput_time_to_start_seconds).",
         f"max({ever('goodput_time_to_start_seconds')})"),
    stat("Time to recover", "s", "From the end of a process to the first step that none before had done; of the newest "
         "recovery (stoker_goodput_time_to_recover_seconds).", f"max({of('goodput_time_to_recover_seconds')})",
         needs=RESTARTS, empty="never interrupted"),
    stat("Interruptions", "short", "Processes that ended before the training was done, and were followed by another "
         "(stoker_goodput_interruptions).", f"max({ever('goodput_interruptions')})"),
]

BY_GPU = "avg by (gpu) ({0} or {1})".format
ON_GPU = [
    lines("SM active, SM occupancy, memory active", "percentunit", "Means over the scrape interval, from NVML (Hopper "
          "or newer: stoker_device_sm_active_ratio, stoker_device_sm_occupancy_ratio, "
          "stoker_device_dram_active_ratio).",
          *((word, f"avg({of(f'device_{name}_ratio')})") for word, name in
            (("SM active", "sm_active"), ("SM occupancy", "sm_occupancy"), ("memory active", "dram_active"))),
          max=1, needs=NVML),
    lines("A kernel was resident", "percentunit", "What nvidia-smi calls utilisation: share of the time with any "
          "kernel on the device; says nothing about how full it is (stoker_device_kernel_resident_ratio).",
          ("resident", f"avg({of('device_kernel_resident_ratio')})"), max=1, needs=NVML),
    lines("Device memory", "bytes", "Of all programs, by NVML (stoker_device_memory_bytes).",
          ("{{kind}}", total(of("device_memory_bytes"), "kind")), needs=NVML),
    lines("Power", "watt", "Mean over the interval, from the energy counter (stoker_device_energy_joules_total).",
          ("power", rate("device_energy_joules_total")), needs=NVML),
    lines("DCGM: SM active", "percentunit", "All GPUs of dcgm-exporter, whoever uses them (DCGM_FI_PROF_SM_ACTIVE; "
          "newer releases call it DCGM_FI_PROF_SM_UTIL_RATIO).",
          ("GPU {{gpu}}", BY_GPU("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO")), max=1, needs=DCGM),
    lines("DCGM: memory active", "percentunit", "Share of the cycles in which the memory moved data "
          "(DCGM_FI_PROF_DRAM_ACTIVE).", ("GPU {{gpu}}", "avg by (gpu) (DCGM_FI_PROF_DRAM_ACTIVE)"), max=1, needs=DCGM),
    lines("DCGM: power", "watt", "DCGM_FI_DEV_POWER_USAGE.", ("GPU {{gpu}}", "avg by (gpu) (DCGM_FI_DEV_POWER_USAGE)"),
          needs=DCGM),
]

HOST = [
    lines("Cores used by the program", "short", "process_cpu_seconds_total.",
          ("cores", f"sum(rate(process_cpu_seconds_total{{@}}{RATE}))")),
    stack("Cores of the machine by mode", "short", "stoker_system_cpu_seconds_total without idle.",
          ("{{mode}}", rate('system_cpu_seconds_total{mode!="idle"}', "mode"))),
    lines("Memory of the program", "bytes", "process_resident_memory_bytes.",
          ("resident", "sum(process_resident_memory_bytes{@})")),
    lines("Memory of the machine", "bytes", "stoker_system_memory_bytes.",
          ("{{kind}}", f"avg by (kind) ({of('system_memory_bytes')})")),
    lines("Disks below data and checkpoints", "Bps", "All programs' traffic (stoker_system_disk_bytes_total).",
          ("{{device}} {{direction}}", rate("system_disk_bytes_total", "device, direction"))),
    lines("Disk in use", "percentunit", "Share of the time with a request under way "
          "(stoker_system_disk_io_time_seconds_total).",
          ("{{device}}", f"clamp_max({rate('system_disk_io_time_seconds_total', 'device')}, 1)"), max=1),
    lines("Network", "Bps", "stoker_system_network_bytes_total.",
          ("{{device}} {{direction}}", rate("system_network_bytes_total", "device, direction"))),
    lines("Pressure", "percentunit", "Share of the time in which some task waited for the resource "
          "(stoker_system_pressure_seconds_total).",
          ("{{resource}}", f"clamp_max({rate(PRESSURE, 'resource')}, 1)"),
          max=1),
    lines("Bytes of the program", "Bps", "By system calls (process_read_call_bytes_total, process_write_call_bytes_total) and "
          "at block devices (process_storage_read_bytes_total, process_storage_written_bytes_total).",
          *((name.replace("_", " "), f"sum(rate(process_{name}_bytes_total{{@}}{RATE}))")
            for name in ("read_call", "write_call", "storage_read", "storage_written"))),
    lines("Descriptors and threads", "short", "process_open_fds, process_threads.",
          ("descriptors", "sum(process_open_fds{@})"), ("threads", "sum(process_threads{@})")),
    lines("Cost of measuring", "percentunit", "Thread time spent on measuring, of one core "
          "(stoker_overhead_seconds_total).",
          ("{{part}}", rate("overhead_seconds_total", "part"))),
    lines("Trace events", "short", "So far; dropped ones did not fit (stoker_trace_events_total, "
          "stoker_trace_dropped_total).",
          ("recorded", total(of("trace_events_total"))), ("dropped", total(of("trace_dropped_total")))),
    lines("Scrape time", "s", "As Prometheus sees it (scrape_duration_seconds).",
          ("{{instance}}", "max by (instance) (scrape_duration_seconds{@})")),
]

RUN_LABELS = {"run": "Run", "loader": "Loader", "dataset": "Data set", "model": "Model", "checkpoint": "Checkpoint",
              "device": "Device", "precision": "Precision", "config": "Configuration"}
ABOUT = [
    Panel("table", "The run", "none", "What it is and which binary ran it "
          "(stoker_run_info, stoker_build_info). The configuration is a hash of the resolved YAML.",
          ("", f"{last_info()} * on (job, instance, run) group_left (version, revision, compiler, torch) {ever('build_info')}"),
          columns=RUN_LABELS | {"version": "Version", "revision": "Revision", "compiler": "Compiler",
                                "torch": "LibTorch", "instance": "Address"}, wide=24),
]

IMAGES_PER_LOOP = f"{of_runs(IMAGES)} / {of_runs('wall_seconds_total', 'avg')}"
COMPARE = [
    Panel("table", "Runs", "none", "Whole runs, also those that are over: shares of the trainer's and of the device's "
          "time (as on the dashboard Stoker run), images and time of the training loop.",
          ("", f"sum by ({', '.join(RUN_LABELS)}) (last_over_time({INFO}{EVER}))"),
          ("I/O share", of_runs(IO_SHARE, "avg")),
          ("Device idle", of_runs(DEVICE_IDLE, "avg")),
          ("Idle for data", run_share(DATA_IDLE, OBSERVED)),
          ("Checkpoint stall", run_share(STALLED, SEGMENTS)),
          ("Images/s", IMAGES_PER_LOOP),
          ("Loop", of_runs("wall_seconds_total", "avg")),
          ("Images", of_runs(IMAGES)),
          columns=RUN_LABELS, units={"I/O share": "percentunit", "Device idle": "percentunit",
                                     "Idle for data": "percentunit", "Checkpoint stall": "percentunit",
                                     "Images/s": "short", "Loop": "s", "Images": "short"}, wide=24, high=10),
    stat("I/O share", "percentunit", "Whole run (stoker_io_share_ratio).", of_runs(IO_SHARE, "avg"), "{{run}}",
         text="both", wide=8, high=8, **SHARE),
    stat("Device idle", "percentunit", "Whole run (stoker_device_idle_ratio).", of_runs(DEVICE_IDLE, "avg"), "{{run}}",
         text="both", wide=8, high=8, **SHARE),
    stat("Images per second of the loop", "short", "Whole run (stoker_images_total / stoker_wall_seconds_total).",
         IMAGES_PER_LOOP, "{{run}}", text="both", wide=8, high=8),
    lines("Images per second", "short", "Of training (stoker_images_total).",
          ("{{run}}", run_rate(IMAGES)), wide=12),
    lines("Waiting for data", "percentunit", "Trainer blocked for its next batch, of its time "
          "(stoker_segments_seconds_total).", ("{{run}}", f"{run_rate(WAITED)} / {run_rate(SEGMENTS)}"),
          max=1, wide=12),
    lines("Device idle over time", "percentunit", "stoker_device_idle_seconds_total / "
          "stoker_device_observed_seconds_total.", ("{{run}}", f"{run_rate(IDLE)} / {run_rate(OBSERVED)}"),
          max=1, wide=12),
    lines("Loss", "short", f"stoker_loss; {EMULATED}.", ("{{run}}", in_run(of_job("loss"), "avg")), wide=12, empty=EMULATED),
]
RANK_WALL, RANK_SEGMENTS, RANK_IDLE = "ranks_wall_seconds_total", "ranks_segments_seconds_total", "ranks_device_idle_seconds_total"


def by_rank(title, help, part):
    return lines(title, "percentunit", help + " / stoker_ranks_wall_seconds_total. As rank 0 tells it at every report.",
                 ("rank {{rank}}", f"{rate(part, 'rank')} / {rate(RANK_WALL, 'rank')}"), needs=MANY, max=1)


RANKS = [
    by_rank("Idle because of peers", "Share of its time that a rank's device waited for other ranks' gradients, beyond the "
            "exchange itself; who waits least holds the others up: stoker_ranks_device_idle_seconds_total",
            RANK_IDLE + '{cause="peers"}'),
    by_rank("Data wait", "Share of its time that a rank's trainer waited for its next batch "
            "(data_wait): stoker_ranks_segments_seconds_total", RANK_SEGMENTS + '{segment="data_wait"}'),
    by_rank("All-reduce", "Share of its time in the exchange of gradients that nothing hides "
            "(allreduce): stoker_ranks_segments_seconds_total", RANK_SEGMENTS + '{segment="allreduce"}'),
    by_rank("Device busy", "Share of its time that a rank's device computed: stoker_ranks_device_busy_seconds_total",
            "ranks_device_busy_seconds_total"),
]

DASHBOARDS = {
    "overview": ("Stoker run", "One run: is the device idle, why, how much of the run is I/O, which stage or tier is "
                 "to blame, what did the last checkpoint cost.",
                 {"At a glance": OVERVIEW, "Training": TRAINING, "Steps and device": STEPS, "Loader": LOADER,
                  "Storage": STORAGE, "Checkpoints and drains": CHECKPOINTS,
                  "Goodput over restarts": GOODPUT, "GPU": ON_GPU,
                  "Ranks": RANKS, "Program and machine": HOST, "About": ABOUT}),
    "compare": ("Stoker compare runs", "Runs beside each other, also those that are over.", {"Runs": COMPARE}),
}
