"""Times as the Gemini API writes them (RFC 3339), without a calendar or a clock."""

from __future__ import annotations

import re

DAY = 86_400
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
LAST = 253_402_300_799
"""The last second of the year 9999."""


def time_of(seconds: float) -> str | None:
    """Seconds since 1970 as a time, to the microsecond; None where the year has no four digits."""
    if not 0 <= seconds <= LAST:
        return None
    micros = round(seconds * 1_000_000)
    clock, micros = divmod(micros, 1_000_000)
    days, clock = divmod(clock, DAY)
    # https://howardhinnant.github.io/date_algorithms.html#civil_from_days
    era, day_of_era = divmod(days + 719_468, 146_097)
    leaps = day_of_era // 1460 - day_of_era // 36_524 + day_of_era // 146_096
    year = (day_of_era - leaps) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    year += era * 400 + (month <= 2)
    minutes, second = divmod(clock, 60)
    whole = f"{year:04}-{month:02}-{day:02}T{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{whole}.{micros:06}Z" if micros else f"{whole}Z"


def seconds_of(time: str) -> float | None:
    """The reverse; None for what is no time, or none that can be written again."""
    found = _TIME.fullmatch(time)
    if found is None:
        return None
    year, month, day, hours, minutes, second = map(int, found.groups()[:6])
    year -= month <= 2
    era, year = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146_097 + year * 365 + year // 4 - year // 100 + day_of_year - 719_468
    whole = days * DAY + hours * 3600 + minutes * 60 + second
    again = time_of(whole)
    if again is None or again[:19] != time[:19]:
        return None
    return whole + int(found[7]) / 10 ** len(found[7]) if found[7] else whole
