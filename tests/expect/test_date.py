"""same_date and same_instant."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import niceeval_expect
from niceeval_expect import Absent, same_date, same_instant

DAY = date(2026, 3, 9)
NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("match", "subject", "outcome"),
    [
        (same_date(DAY), DAY, "matched"),
        (same_date(DAY), "2026-03-09", "matched"),
        (same_date("2026-03-09"), DAY, "matched"),
        (same_date("2026-03-09"), " 2026-03-09\n", "matched"),
        (same_date("2026-03-09"), "2026-03-10", "mismatched"),
        (same_date("2026-03-09", day_first=True), "9.3.2026", "matched"),
        (same_date("2026-03-09", day_first=True), "09/03/2026", "matched"),
        (same_date("2026-03-09", day_first=True), "9-3-2026", "matched"),
        (same_date("2026-03-09", day_first=False), "3/9/2026", "matched"),
        (same_date("2026-03-09", day_first=False), "9.3.2026", "mismatched"),
        (same_date("2026-03-09", day_first=True), "2026-03-09", "matched"),
        (same_date("9.3.2026", day_first=True), "2026-03-09", "matched"),
    ],
)
def test_dates_compare_as_days(match: Any, subject: object, outcome: str) -> None:
    assert match.evaluate(subject).outcome == outcome
    assert (~match).evaluate(subject).outcome == {"matched": "mismatched", "mismatched": "matched"}[outcome]


@pytest.mark.parametrize(
    ("match", "subject", "message"),
    [
        (same_date(DAY), "9.3.2026", "say day_first=True or day_first=False"),
        (same_date(DAY, day_first=True), "9.3.26", "no date such as"),
        (same_date(DAY, day_first=True), "9.3/2026", "no date such as"),
        (same_date(DAY, day_first=False), "31.12.2026", "no such day"),
        (same_date(DAY), "2026-02-30", "no such day"),
        (same_date(DAY), "20260309", "no date such as"),
        (same_date(DAY), "2026-3-9", "no date such as"),
        (same_date(DAY), "on 2026-03-09", "no date such as"),
        (same_date(DAY), "2026-03-09T00:00:00Z", "has a time"),
        (same_date(DAY), "", "no date such as"),
        (same_date(DAY), datetime(2026, 3, 9), "got a datetime"),
        (same_date(DAY), 20260309, "got int"),
        (same_date(DAY), None, "got NoneType"),
        (same_instant(NOON), DAY, "it has no time"),
        (same_instant(NOON), "2026-03-09", "it has no time"),
        (same_instant(NOON), "noon", "no date and time such as"),
        (same_instant(NOON), "2026-03-09T25:00Z", "no such time"),
        (same_instant(NOON), "2026-02-30T12:00Z", "no such time"),
        (same_instant(NOON), "2026-03-09T12:00+99:00", "no such UTC offset"),
        (same_instant(NOON), 1773057600, "say unit="),
        (same_instant(NOON, unit="s"), float("nan"), "not a finite number"),
        (same_instant(NOON, unit="s"), True, "got bool"),
        (same_instant(NOON), time(12), "got time"),
    ],
)
def test_what_cannot_be_read_supports_neither_the_claim_nor_its_denial(
    match: Any, subject: object, message: str
) -> None:
    for each in (match, ~match):
        evaluation = each.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")
    assert message in match.evaluate(subject).diagnostic.message


def test_a_missing_date_is_unavailable() -> None:
    for match in (same_date(DAY), ~same_date(DAY), same_instant(NOON), ~same_instant(NOON)):
        assert match.evaluate(Absent("no reply")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("match", "subject", "outcome"),
    [
        (same_instant(NOON), NOON, "matched"),
        (same_instant(NOON), "2026-03-09T12:00:00Z", "matched"),
        (same_instant(NOON), "2026-03-09 14:00+02:00", "matched"),
        (same_instant(NOON), "2026-03-09t13:30:00.000+0130", "matched"),
        (same_instant(NOON), "2026-03-08T23:59:59-12:00:01", "matched"),
        (same_instant(NOON), NOON.astimezone(timezone(timedelta(hours=-9))), "matched"),
        (same_instant(NOON), "2026-03-09T12:00:00.000000001Z", "mismatched"),
        (same_instant("2026-03-09T12:00:00.123456789Z"), "2026-03-09T12:00:00.123456789Z", "matched"),
        (same_instant(NOON), "2026-03-09T12:00:00", "mismatched"),
        (same_instant("2026-03-09T12:00"), "2026-03-09T12:00:00Z", "mismatched"),
        (same_instant("2026-03-09T12:00"), datetime(2026, 3, 9, 12), "matched"),
        (same_instant("2026-03-09T12:00"), "2026-03-09T13:00", "mismatched"),
        (same_instant(NOON, unit="s"), 1773057600, "matched"),
        (same_instant(NOON, unit="ms"), 1773057600000, "matched"),
        (same_instant(NOON, unit="us"), 1773057600000000, "matched"),
        (same_instant(NOON, unit="ns"), 1773057600000000001, "mismatched"),
        (same_instant(1773057600.5, unit="s"), "2026-03-09T12:00:00.5Z", "matched"),
        (same_instant(Decimal("-1"), unit="s"), "1969-12-31T23:59:59Z", "matched"),
        (same_instant(NOON, unit="s"), datetime(2026, 3, 9, 12), "mismatched"),
        (same_instant(10**15, unit="s"), 10**15, "matched"),
        (same_instant(10**15, unit="s"), 10**15 + 1, "mismatched"),
        (same_instant(datetime.min), datetime.max, "mismatched"),
    ],
)
def test_instants_compare_as_points_in_time(match: Any, subject: object, outcome: str) -> None:
    assert match.evaluate(subject).outcome == outcome
    assert (~match).evaluate(subject).outcome == {"matched": "mismatched", "mismatched": "matched"}[outcome]


def test_aware_against_naive_is_a_mismatch_with_that_reason() -> None:
    evaluation = same_instant(NOON).evaluate("2026-03-09T12:00:00")
    assert evaluation.code == "offset"
    assert evaluation.diagnostic.message == (
        "is 2026-03-09T12:00:00 (no UTC offset): the expected one has a UTC offset and this has none, "
        "so that they cannot be compared"
    )
    assert "this has a UTC offset and the expected one has none" in (
        same_instant("2026-03-09T12:00").evaluate(NOON).diagnostic.message
    )


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("2026-03-09T13:00:00Z", "is 2026-03-09T13:00:00Z, 1 hour later than 2026-03-09T12:00:00Z"),
        ("2026-03-09T11:59:59.5Z", "is 2026-03-09T11:59:59.5Z, 0.5 seconds earlier than 2026-03-09T12:00:00Z"),
        ("2026-03-10T12:00:00Z", "is 2026-03-10T12:00:00Z, 24 hours later than 2026-03-09T12:00:00Z"),
    ],
)
def test_a_mismatch_says_how_far_apart_they_are(subject: str, message: str) -> None:
    assert same_instant(NOON).evaluate(subject).diagnostic.message == message
    assert same_date(DAY).evaluate("2026-03-07").diagnostic.message == ("is 2026-03-07, 2 days earlier than 2026-03-09")


def test_the_hour_that_comes_twice_is_told_apart() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first, second = (datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=berlin) for fold in (0, 1))
    assert same_instant("2026-10-25T00:30:00Z").evaluate(first).outcome == "matched"
    assert same_instant("2026-10-25T01:30:00Z").evaluate(second).outcome == "matched"
    assert same_instant(first).evaluate(second).outcome == "mismatched"


def test_the_time_zone_of_the_machine_plays_no_part() -> None:
    code = (
        "from datetime import datetime\n"
        "from niceeval_expect import same_instant\n"
        "m = same_instant('2026-03-09T12:00:00Z', unit='s')\n"
        "print(m.evaluate(1773057600).outcome, m.evaluate(datetime(2026, 3, 9, 12)).code, "
        "same_instant(datetime(2026, 3, 9, 12)).evaluate('2026-03-09T12:00').outcome)"
    )
    root = str(Path(niceeval_expect.__file__).parents[1])
    for zone in ("UTC", "Asia/Tokyo"):
        environment = {**os.environ, "TZ": zone, "PYTHONPATH": root}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert ran.stdout.split() == ["matched", "offset", "matched"]


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: same_date(datetime(2026, 3, 9)), TypeError),
        (lambda: same_date(untyped(20260309)), TypeError),
        (lambda: same_date("9.3.2026"), ValueError),
        (lambda: same_date("someday"), ValueError),
        (lambda: same_date(DAY, day_first=untyped(1)), TypeError),
        (lambda: same_instant("2026-03-09"), ValueError),
        (lambda: same_instant(untyped(DAY)), ValueError),
        (lambda: same_instant(1773057600), ValueError),
        (lambda: same_instant(untyped(True), unit="s"), TypeError),
        (lambda: same_instant(untyped(None)), TypeError),
        (lambda: same_instant(NOON, unit=untyped("minutes")), ValueError),
        (lambda: same_instant(float("inf"), unit="s"), ValueError),
    ],
)
def test_a_bad_argument_is_refused(build: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"same_(date|instant)\(\)"):
        build()


def untyped(value: Any) -> Any:
    return value


@given(st.datetimes(timezones=st.timezones()), st.timezones())
def test_an_instant_is_the_same_in_every_time_zone(moment: datetime, zone: Any) -> None:
    try:
        elsewhere = moment.astimezone(zone)
    except OverflowError:
        return
    assert same_instant(moment).evaluate(elsewhere).outcome == "matched"
    assert same_instant(moment).evaluate(elsewhere.isoformat()).outcome == "matched"


@pytest.mark.parametrize(
    "number", [10**400, -(10**5_000), Decimal("1e999999"), 1e300], ids=["int", "long", "decimal", "float"]
)
def test_a_number_out_of_all_proportion_is_no_instant(number: Any) -> None:
    match = same_instant(1.5, unit="s")
    assert match.evaluate(number).code == "type"
    assert (~match).evaluate(number).outcome == "mismatched"
