"""The few forms of PromQL that the panels are made of. `{@` stands for the chosen job and instance."""

RATE = "[$__rate_interval]"
EVER = "[$__range]"
INFO = 'stoker_run_info{job=~"$job",run=~"$run"}'


def of(series):
    """`name{a="b"}` -> `stoker_name{@,a="b"}`."""
    name, _, labels = series.partition("{")
    return f"stoker_{name}{{@,{labels}" if labels else f"stoker_{name}{{@}}"


def total(query, by=""):
    return f"sum by ({by}) ({query})" if by else f"sum({query})"


def rate(series, by=""):
    return total(f"rate({of(series)}{RATE})", by)


def ever(series, rule="last"):
    """The last value that the chosen run had of each series, though it be over. The series are those of prometheus/rules.yml
    with the label `run`: an earlier run at the same address is not mixed in, and a week costs its samples and no more."""
    name, _, labels = series.partition("{")
    chosen = '{@,run=~"$run",' + labels if labels else '{@,run=~"$run"}'
    return f"last_over_time(run:stoker_{name}:{rule}{chosen}{EVER})"


def whole(series, by=""):
    """What a counter, which starts at 0 with the run, came to."""
    return total(ever(series), by)


def share(part, all_of_it, how=rate):
    return f"{how(part)} / {how(all_of_it)}"


def shares(part, by, all_of_it, how=rate):
    """By a label, of the total."""
    return f"{how(part, by)} / on () group_left () {how(all_of_it)}"


def largest(part, by, all_of_it):
    return f"topk(1, {shares(part, by, all_of_it, whole)})"


def quantile(q, histogram, by="", labels=""):
    """Of what ended in the interval; nothing, instead of NaN, where nothing ended."""
    return f"histogram_quantile({q}, {rate(histogram + '_bucket' + labels, 'le, ' + by if by else 'le')}) >= 0"


def mean(histogram, by="", labels=""):
    """Of what ended in the interval; nothing where nothing ended."""
    return f"{rate(histogram + '_sum' + labels, by)} / ({rate(histogram + '_count' + labels, by)} > 0)"


def newest(histogram, part):
    """What was observed last; the mean over ranks."""
    series = f'{histogram}{{part="{part}"}}'
    return f"avg({ever(series, 'newest')})"


def last_info():
    """The run's labels, though it be over."""
    return f'last_over_time(stoker_run_info{{@,run=~"$run"}}{EVER})'


def in_run(query, over_ranks="sum"):
    """By run, over the addresses (ranks) that it has."""
    return f"{over_ranks} by (run) ({total(query, 'job, instance')} * on (job, instance) group_left (run) {INFO})"


def of_job(series):
    return of(series).replace("{@", '{job=~"$job"')


def run_rate(series):
    return in_run(f"rate({of_job(series)}{RATE})")


def of_runs(series, over_ranks="sum"):
    """What a counter came to in each run."""
    return f"{over_ranks} by (run) ({ever(series)})".replace("{@", '{job=~"$job"')


def run_share(part, all_of_it):
    """Of the whole run, by run."""
    return f"{of_runs(part)} / {of_runs(all_of_it)}"
