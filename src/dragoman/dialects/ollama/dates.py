"""Dates as Ollama writes them (RFC 3339) and as seconds, by arithmetic: there is no clock here."""

from __future__ import annotations

import re
from decimal import Decimal

from ...core import dates

_date = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))"
).fullmatch
DAY = 86400


def seconds_of(text: str) -> float | None:
    """Seconds since 1970; None where the text is no date.

    >>> seconds_of("1970-01-02T00:00:00.5Z"), seconds_of("2025-08-14T14:53:06+02:00")
    (86400.5, 1755175986)
    """
    found = _date(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    total = dates.days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second
    if found[8]:
        offset = int(found[9]) * 3600 + int(found[10]) * 60
        total += -offset if found[8] == "+" else offset
    return total + float(found[7]) if found[7] else total


def date_of(seconds: float) -> str:
    """Seconds since 1970 as a date.

    >>> date_of(1755175986), date_of(86400.5)
    ('2025-08-14T12:53:06Z', '1970-01-02T00:00:00.5Z')
    """
    whole = int(seconds // 1)
    fraction = f"{Decimal(repr(seconds)) - whole:.9f}"[1:].rstrip("0").rstrip(".")
    days, rest = divmod(whole, DAY)
    year, month, day = dates.date_of(days)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}{fraction}"
    return f"{year:04}-{month:02}-{day:02}T{clock}Z"
