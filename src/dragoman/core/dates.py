"""Days by arithmetic, without a clock and without an end of the calendar.

https://howardhinnant.github.io/date_algorithms.html: years begin in March, so that a leap day is
the last of its year.
"""

from __future__ import annotations


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970.

    >>> days_of(1970, 1, 2), days_of(2024, 2, 29)
    (1, 19782)
    """
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


FIRST, LAST = -62_167_219_200, 253_402_300_799
"""The first second of the year 0000, and the last of 9999."""


def has_year(seconds: float) -> bool:
    """Whether seconds since 1970 have a year of four digits."""
    return FIRST <= seconds <= LAST


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of so many days since 1970.

    >>> date_of(19782)
    (2024, 2, 29)
    """
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day
