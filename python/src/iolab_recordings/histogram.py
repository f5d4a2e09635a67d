"""Latency histograms: which values a bucket stands for, percentiles, sums of histograms.

Values below 128 ns have a bucket each. Above, each power of two is divided into 64 buckets, up to 2^46 ns. So a value is
at most 1/128 from the middle of its bucket.
"""

import math
from bisect import bisect_left
from itertools import accumulate

_SUB_BITS = 6
_PER_GROUP = 1 << _SUB_BITS
BUCKETS = 41 * _PER_GROUP


def bucket_range(index):
    """The values of a bucket in ns, as ``(first, first of the next one)``."""
    if not 0 <= index < BUCKETS:
        raise ValueError(f"there is no bucket {index}; they go from 0 to {BUCKETS - 1}")
    if index < 2 * _PER_GROUP:
        return index, index + 1
    error_bits = (index >> _SUB_BITS) - 1
    low = ((index & (_PER_GROUP - 1)) + _PER_GROUP) << error_bits
    return low, low + (1 << error_bits)


def bucket_middle(index):
    """The value in ns that stands for a bucket."""
    low, end = bucket_range(index)
    return low + (end - low) // 2


class Histogram:
    """How often each latency occurred. Immutable.

    ``count``, ``min``, ``max``, ``sum`` and ``sum_of_squares`` are exact; ``buckets`` is a list of ``(index, count)``,
    ascending, without empty ones.
    """

    __slots__ = ("count", "min", "max", "sum", "sum_of_squares", "buckets")

    def __init__(self, count=0, min=0, max=0, sum=0, sum_of_squares=0.0, buckets=()):  # names of the file
        self.count, self.min, self.max = count, min, max
        self.sum, self.sum_of_squares = sum, sum_of_squares
        self.buckets = [(index, number) for index, number in buckets]

    @classmethod
    def of_totals(cls, fields):
        """From the form that totals of a worker have in the file."""
        return cls(**fields)

    @classmethod
    def of_interval(cls, fields):
        """From the form that intervals have: gaps between buckets instead of indices, and no count."""
        buckets, index = [], -1
        flat = fields["buckets"]
        for gap, number in zip(flat[::2], flat[1::2]):
            index += gap + 1
            buckets.append((index, number))
        count = sum(number for _, number in buckets)
        return cls(count, fields["min"], fields["max"], fields["sum"], fields["sum_of_squares"], buckets)

    @classmethod
    def merged(cls, histograms):
        """All that several histograms counted, as one. Percentiles of a sum come from here: their means mean nothing."""
        parts = [one for one in histograms if one.count]
        if not parts:
            return cls()
        buckets = {}
        for one in parts:
            for index, number in one.buckets:
                buckets[index] = buckets.get(index, 0) + number
        return cls(
            sum(one.count for one in parts),
            min(one.min for one in parts),
            max(one.max for one in parts),
            sum(one.sum for one in parts),
            math.fsum(one.sum_of_squares for one in parts),
            sorted(buckets.items()),
        )

    def __bool__(self):
        return self.count > 0

    def __repr__(self):
        return f"<Histogram of {self.count} values, {self.min} to {self.max} ns>"

    @property
    def mean(self):
        """Arithmetic mean in ns; 0 when empty."""
        return self.sum / self.count if self.count else 0.0

    @property
    def stddev(self):
        """Sample standard deviation in ns; 0 for fewer than two values."""
        if self.count < 2:
            return 0.0
        spread = self.sum_of_squares - float(self.sum) * float(self.sum) / self.count
        return math.sqrt(max(spread, 0.0) / (self.count - 1))

    def percentile(self, percent):
        """The percentile by nearest rank, in ns: the middle of its bucket, within minimum and maximum. 0 when empty."""
        return self.percentiles([percent])[0]

    def percentiles(self, percents):
        """Several of them; the counts are summed up once."""
        if not self.count:
            return [0 for _ in percents]
        running = list(accumulate(number for _, number in self.buckets))
        found = []
        for percent in percents:
            if not 0 <= percent <= 100:
                raise ValueError(f"{percent} is no percentile; they go from 0 to 100")
            rank = min(max(math.ceil(percent / 100 * self.count), 1), self.count)
            place = bisect_left(running, rank)
            if place == len(running):  # moments without buckets
                found.append(self.max)
            else:
                found.append(min(max(bucket_middle(self.buckets[place][0]), self.min), self.max))
        return found

    def share_below(self, value):
        """The share of values, 0 to 1, in buckets that end at or below a latency in ns."""
        if not self.count:
            return 0.0
        return sum(number for index, number in self.buckets if bucket_range(index)[1] <= value) / self.count

    def rows(self):
        """A row for each bucket: ``low_ns``, ``end_ns``, ``count``, and ``share``, that of all values up to its end."""
        seen, rows = 0, []
        for index, number in self.buckets:
            seen += number
            low, end = bucket_range(index)
            rows.append({"low_ns": low, "end_ns": end, "count": number, "share": seen / self.count})
        return rows
