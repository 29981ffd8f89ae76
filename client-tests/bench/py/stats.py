# SPDX-License-Identifier: BSD-2-Clause
"""Medians and how sure we are of them, by order statistics: no assumption about distributions."""
from math import comb


def coverage(n):
    """(k, confidence): the median of n values lies between the k-th smallest and the k-th largest
    with that confidence; k is the largest that keeps 95 %, or 1 where none does."""
    lost = lambda k: 2 * sum(comb(n, i) for i in range(k)) / 2**n
    k = 1
    while 2 * (k + 1) <= n and lost(k + 1) <= .05:
        k += 1
    return k, 1 - lost(k)


def median(values):
    v = sorted(values)
    n = len(v)
    return v[n // 2] if n % 2 else (v[n // 2 - 1] + v[n // 2]) / 2


def summary(values):
    """What is shown of a list of measurements; None when there are none."""
    v = sorted(x for x in values if x is not None)
    if not v:
        return None
    k, sure = coverage(len(v))
    return {"n": len(v), "median": median(v), "min": v[0], "max": v[-1],
            "low": v[k - 1], "high": v[-k], "coverage": sure}


def ratio(a, b):
    """Of paired measurements (same round, one after the other)."""
    return summary([x / y for x, y in zip(a, b) if x is not None and y])


def crossover(xs, ratios):
    """Where a ratio that should fall crosses 1, by log-linear interpolation between the last x at
    which it is above and the next; None when it never does. (x, exact): exact is False when it
    is below 1 from the first x on."""
    from math import exp, log
    last_above = max((i for i, r in enumerate(ratios) if r > 1), default=None)
    if last_above is None:
        return xs[0], False
    if last_above + 1 == len(xs):
        return None
    i = last_above
    share = (ratios[i] - 1) / (ratios[i] - ratios[i + 1])
    return exp(log(xs[i]) + share * (log(xs[i + 1]) - log(xs[i]))), True
