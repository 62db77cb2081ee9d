"""Times as Google's APIs write them (RFC 3339), without a calendar or a clock."""

from __future__ import annotations

import re
from functools import lru_cache

from .dates import date_of, days_of

DAY = 86_400
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
LAST = 253_402_300_799
"""The last second of the year 9999."""


def time_of(seconds: float) -> str | None:
    """Seconds since 1970 as a time, to the microsecond; None where the year has no four digits."""
    if not 0 <= seconds <= LAST:
        return None
    clock, micros = divmod(round(seconds * 1_000_000), 1_000_000)
    days, clock = divmod(clock, DAY)
    minutes, second = divmod(clock, 60)
    whole = f"{spelled(days)}T{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{whole}.{micros:06}Z" if micros else f"{whole}Z"


@lru_cache(maxsize=16)
def spelled(days: int) -> str:
    """The date of so many days since 1970; most of what is converted is of today."""
    year, month, day = date_of(days)
    return f"{year:04}-{month:02}-{day:02}"


def seconds_of(time: str) -> float | None:
    """The reverse; None for what is no time, or none that can be written again."""
    found = _TIME.fullmatch(time)
    if found is None:
        return None
    year, month, day, hours, minutes, second = map(int, found.groups()[:6])
    whole = days_of(year, month, day) * DAY + hours * 3600 + minutes * 60 + second
    again = time_of(whole)
    if again is None or again[:19] != time[:19]:
        return None
    return whole + int(found[7]) / 10 ** len(found[7]) if found[7] else whole
