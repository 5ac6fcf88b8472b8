"""The few forms of PromQL that the panels are made of. `{@` stands for the chosen job and instance."""

RATE = "[$__rate_interval]"
# Every second, as the last scrape of a run counts: a run that is over still has its counters there.
EVER = "[$__range:1s]"
INFO = 'stoker_run_info{job=~"$job",run=~"$run"}'


def of(series):
    """`name{a="b"}` -> `stoker_name{@,a="b"}`."""
    name, _, labels = series.partition("{")
    return f"stoker_{name}{{@,{labels}" if labels else f"stoker_{name}{{@}}"


def total(query, by=""):
    return f"sum by ({by}) ({query})" if by else f"sum({query})"


def rate(series, by=""):
    return total(f"rate({of(series)}{RATE})", by)


def last(query):
    """The last value while the chosen run was there. Summed before it is looked for, so that an earlier run at the
    same address, with other labels, is not mixed in."""
    return f"last_over_time((({query}) and on () stoker_run_info{{@,run=~\"$run\"}}){EVER})"


def whole(series, by=""):
    """What a counter, which starts at 0 with the run, came to."""
    return total(last(total(of(series), "job, instance" + (f", {by}" if by else ""))), by)


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


def newest(histogram, labels=""):
    """What was observed last: the growth of the sum where the count grew (the mean of several in 5 s)."""
    def growth(part):
        series = of(f"{histogram}_{part}{labels}")
        return f"sum({series} - {series} offset 5s)"
    return last(f"{growth('sum')} / ({growth('count')} > 0)")


def last_of_runs(query):
    return f"last_over_time(({query}){EVER})"


def in_run(query, over_ranks="sum"):
    """By run, over the addresses (ranks) that it has."""
    return f"{over_ranks} by (run) ({total(query, 'job, instance')} * on (job, instance) group_left (run) {INFO})"


def of_job(series):
    return of(series).replace("{@", '{job=~"$job"')


def run_rate(series):
    return in_run(f"rate({of_job(series)}{RATE})")


def run_share(part, all_of_it):
    """Of the whole run, by run."""
    return last_of_runs(f"{in_run(of_job(part))} / {in_run(of_job(all_of_it))}")
