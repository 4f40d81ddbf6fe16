"""A metric family, and the two formats in which it is written: Prometheus' text, and OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from penstock.core.base.histogram import Histogram

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"
Kind = Literal["counter", "gauge", "histogram"]

Sample = tuple[str, float]
"""What stands behind the family's name, labels and all, and a value."""

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Family(NamedTuple):
    """Samples are made while they are written, so a large family needs no room."""

    name: str
    kind: Kind
    text: str
    samples: Iterable[Sample]

    def lines(self, is_open: bool) -> Iterator[str]:
        """In OpenMetrics a counter is named without the end that its samples have."""
        name = self.name
        told = name.removesuffix("_total") if is_open and self.kind == COUNTER else name
        yield f"# HELP {told} {self.text}"
        yield f"# TYPE {told} {self.kind}"
        for labels, value in self.samples:
            yield f"{name}{labels} {_number(value)}"


def single(name: str, kind: Kind, text: str, value: float) -> Family:
    """A family without labels."""
    return Family(name, kind, text, (("", value),))


def labels(**values: object) -> str:
    """Names and values as they stand behind a metric's name."""
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())
    return f"{{{inner}}}"


def buckets(histogram: Histogram, scale: float, **own: object) -> Iterator[Sample]:
    """A histogram's samples, its bounds and its sum divided by a scale."""
    ahead = "".join(f'{name}="{_escaped(value)}",' for name, value in own.items())
    behind = labels(**own) if own else ""
    total = 0
    for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
        total += count
        yield f'_bucket{{{ahead}le="{bound / scale!r}"}}', total
    total += histogram.counts[-1]
    yield f'_bucket{{{ahead}le="+Inf"}}', total
    yield f"_sum{behind}", histogram.total / scale
    yield f"_count{behind}", total


def _escaped(value: object) -> str:
    return str(value).translate(_ESCAPES)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
