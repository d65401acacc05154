"""Tables as people have them: what becomes of each column, and what is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fusewise.tables import read_table

N = 240
RNG = np.random.default_rng(0)
SCORE = {"score": RNG.normal(size=N).round(2)}
AGE = {"age": RNG.integers(18, 91, N)}
ANSWERS = {f"{scale}{k}": RNG.integers(1, 7, N) for scale in "ACENO" for k in range(1, 6)}
DAYS = pd.Timestamp("2015-03-01") + pd.to_timedelta([0, *RNG.integers(1, 2000, N - 1)], "D")
ORDERED = dict.fromkeys(ANSWERS, "ordered")
#: What becomes of a column of dates that is called `when`.
WHEN = {"when": "date", "when (days since 2015-03-01)": "number", "when (month)": "ordered"}


def shuffled(start, step=1):
    return RNG.permutation(np.arange(start, start + step * N, step))


def in_groups(size, start=1):
    return start + np.arange(N) // size


def with_some(values, code, count=12):
    """The values, some of them replaced by a code."""
    return [code if k % (N // count) == 0 else value for k, value in enumerate(values)]


#: Columns, and what they become: a kind, with a minus if it is not used; then options, and words of the only note.
FRAMES = {
    "pupils": (SCORE | {"pupilNR": shuffled(1), "schid": in_groups(20), "distid": in_groups(80)},
               {"score": "number", "pupilNR": "-identifier", "schid": "category", "distid": "category"}),
    "many schools": (SCORE | {"schid": in_groups(4), "distid": in_groups(8)},
                     {"score": "number", "schid": "-identifier", "distid": "-identifier"}),
    "a panel": (SCORE | {"idcode": in_groups(5), "year": np.tile(range(2001, 2006), N // 5)},
                {"score": "number", "idcode": "-identifier", "year": "number"}),
    "flights": (SCORE | {"flight": RNG.integers(1, 6000, N), "hour": RNG.integers(5, 24, N)},
                {"score": "number", "flight": "-identifier", "hour": "number"}),
    "ids with gaps": (SCORE | {"respid": with_some(shuffled(1), None)}, {"score": "number", "respid": "-identifier"}),
    "postcodes and telephones": (SCORE | {"zip_code": shuffled(10_000, 37), "phone": shuffled(30_000_000, 91)},
                                 {"score": "number", "zip_code": "-identifier", "phone": "-identifier"}),
    "answers": (ANSWERS, ORDERED),
    "answers beside ages": (ANSWERS | AGE, ORDERED | {"age": "number"}),
    "answers, some missing": ({name: with_some(cells, None) for name, cells in ANSWERS.items()}, ORDERED),
    "answers as numbers": (ANSWERS, ORDERED | dict.fromkeys(["A1", "A2", "A3", "A4", "A5"], "number"),
                           {"kinds": {"A*": "number"}}),
    "answers as categories": (ANSWERS, {name: "category" if name[0] in "AC" else "ordered" for name in ANSWERS},
                              {"kinds": {"A*,C*": "category"}}),
    "ages as levels": (ANSWERS | AGE, ORDERED | {"age": "ordered"}, {"kinds": {"a*,A*": "ordered"}}),
    "answers left out": (ANSWERS | AGE, {name: f"-{kind}" for name, kind in ORDERED.items()} | {"age": "number"},
                         {"ignore": ["?[1-5]"]}),
    "flags": ({"sex": RNG.choice(["M", "F"], N), "smokes": RNG.choice([1, 2], N), "wet": RNG.choice([0.0, 1.0], N),
               "ill": RNG.choice(["yes", "no"], N), "dose": RNG.choice([2.5, 10], N)},
              dict.fromkeys(["sex", "smokes", "wet", "ill", "dose"], "flag")),
    "9 on a scale to 6": (ANSWERS | {"A1": with_some(ANSWERS["A1"], 9)}, ORDERED, {},
                          "column 'A1': 9 (12 cells) is beyond"),
    "ages of 99": ({"age": with_some(AGE["age"], 99, 60)}, {"age": "number"}, {},
                   "column 'age': 99 (60 cells) is in many"),
    "ages of 99 told": ({"age": with_some(AGE["age"], 99, 60)}, {"age": "number"}, {"missing": {"age": [99]}}),
    "ages of 9 are no answers": ({"age": RNG.integers(5, 14, N), "q": with_some(ANSWERS["A1"], 9)},
                                 {"age": "number", "q": "ordered"}, {}, "--missing 'q=9'"),
    "states": ({"state": [f"state {k % 51}" for k in range(2600)], "x": np.arange(2600) % 7 / 8},
               {"state": "category", "x": "number"}),
    "too many towns": ({"town": [f"town {k % 400}" for k in range(2600)], "x": np.arange(2600) % 7 / 8},
                       {"town": "-text", "x": "number"}),
    "dates": ({"when": DAYS.strftime("%Y-%m-%d")}, WHEN),
    "dates and times": (SCORE | {"when": (DAYS + pd.to_timedelta(np.arange(N) * 311, "s")).strftime("%Y-%m-%d %H:%M")},
                        {"score": "number"} | WHEN | {"when (hour)": "number"}),
    "dates in less than two years": (SCORE | {"when": DAYS[np.argsort(DAYS)][:60].repeat(4).strftime("%Y-%m-%d")},
                                     {"score": "number", "when": "date", "when (days since 2015-03-01)": "number"}),
    "dates dropped": (SCORE | {"when": DAYS.strftime("%Y-%m-%d")}, {"score": "number", "when": "-date"},
                      {"ignore": ["when"]}),
    "months dropped": (SCORE | {"when": DAYS.strftime("%Y-%m-%d")},
                       {"score": "number"} | WHEN | {"when (month)": "-ordered"}, {"ignore": ["when (month)"]}),
    "a series": (SCORE | {"day": pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y")},
                 {"score": "number", "day": "-date"}),
}  # fmt: skip


@pytest.mark.parametrize("case", FRAMES)
def test_columns_of_a_table(tmp_path, case):
    columns, expected, options, note = FRAMES[case] + ({}, "")[len(FRAMES[case]) - 2 :]
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    reading = read_table(tmp_path / "t.csv", **options)
    assert {column.name: column.kind if column.used else f"-{column.kind}" for column in reading.columns} == expected
    assert [note in said for said in reading.notes] == [True] * bool(note)
