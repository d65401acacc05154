"""What a column is, by its name and its values, alone and beside others: the kind it must have, and what is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fusewise import DataWarning, FusionClustering
from fusewise.tables import Kind, read_table

N = 240
RNG = np.random.default_rng(0)
MEASURED = RNG.normal(size=N).round(3)


def drawn(low, high, size=N):
    return np.random.default_rng(1).integers(low, high, size)


def increasing(start, most=9):
    return start + np.cumsum(np.random.default_rng(2).integers(1, most, N))


def shuffled(values):
    return np.random.default_rng(3).permutation(values)


def in_groups(n_groups, start=1):
    """Numbers of groups whose rows lie together, as schools or panels have them."""
    return np.sort(np.random.default_rng(4).integers(start, start + n_groups, N))


MIXED_LENGTH = np.array([int("123456789012345678"[:k]) + 7 * j for j, k in enumerate(np.tile(range(10, 19), 27)[:N])])

#: Name of the column, its values, its kind.
NAMED = {
    **{
        name: (name, shuffled(increasing(400_000)), "identifier")
        for name in (
            "PID", "pid", "pupilNR", "distid", "schid", "idcode", "respid", "case_no", "PatientNo", "MRN", "SEQN",
            "state_fp", "tract_ce",
            "barcode", "sku", "account", "customer", "customerID", "user_id", "Subject", "student number", "hhid",
            "caseid", "Order Nr", "serial no", "ID", "id2", "invoice_number", "patient", "uuid", "EAN", "person_code",
            "caseno", "countrycode", "RowNumber", "receipt no", "Kundennummer", "index",
        )
    },
    "an id that repeats in a panel": ("idcode", in_groups(60, 1000), "identifier"),
    "an id whose repeats are apart": ("customer", drawn(1, 80), "identifier"),
    "schools": ("school", in_groups(70), "identifier"),
    "districts": ("district", in_groups(9), "category"),
    "numbered sites": ("site", drawn(1, 6), "category"),
    "codes of regions": ("region_code", drawn(10, 22), "category"),
    "schools by id": ("schid", drawn(100, 112), "category"),
    "ids of 10 to 18 digits": ("x", shuffled(MIXED_LENGTH), "identifier"),
    "ids of 12 digits that repeat": ("tweet", 900_000_000_000 + 7_919 * drawn(0, 60), "identifier"),
    "ids of 15 digits of a few things": ("tag", 900_000_000_000_011 + 7_919 * drawn(0, 5), "category"),
    "a count of the rows": ("Unnamed: 0", np.arange(N), "identifier"),
    "a count from behind": ("z", np.arange(N)[::-1], "identifier"),
    "a count with gaps": ("z", increasing(0, 3), "identifier"),
    "a count that starts again": ("Unnamed: 0", np.tile(np.arange(60), 4), "identifier"),
    "rows taken out of a longer table": ("Unnamed: 0", drawn(0, 4000), "identifier"),
    # what must stay
    "ages": ("age", drawn(18, 90), "number"),
    "ages in order": ("age", np.arange(N), "number"),
    "years": ("year", drawn(1950, 2020), "number"),
    "years in order": ("year", 1780 + np.arange(N), "number"),
    "prices": ("price", shuffled(increasing(10_000, 900)), "number"),
    "populations": ("population", shuffled(increasing(80_000, 9_000_000)), "number"),
    "large amounts": ("revenue", shuffled(increasing(10**10, 10**7)), "number"),
    "large rounded amounts": ("x", 1_000 * shuffled(increasing(10**8, 10**7)), "number"),
    "counts of pupils": ("pupils", drawn(5, 60), "number"),
    "students": ("n_students", drawn(100, 900), "number"),
    "acid": ("citric_acid", drawn(0, 60), "number"),
    "lipid": ("lipid", drawn(100, 400), "number"),
    "paid": ("paid", shuffled(increasing(10, 50)), "number"),
    "thyroid": ("thyroid", drawn(20, 200), "number"),
    "bids": ("bid", shuffled(increasing(1, 90)), "number"),
    "lines of code": ("lines_of_code", drawn(20, 2000), "number"),
    "a balance of accounts": ("account_balance", shuffled(increasing(1, 90)), "number"),
    "prices of houses": ("house price", shuffled(increasing(100_000, 900)), "number"),
    "nitrogen dioxide": ("NO2", drawn(5, 90), "number"),
    "counts called number": ("platelet_no", drawn(150, 250), "number"),
    "one of several sensors": ("sensor_1", drawn(500, 600), "number"),
    "one of several sensors, all different": ("sensor 11", shuffled(increasing(500)), "number"),
    "one of several answers": ("item14", drawn(1, 6), "ordered"),
    "the duration of an id": ("id_duration", drawn(5, 90), "number"),
    "heart rates": ("pulse", drawn(40, 130), "number"),
    "values in any order": ("x", shuffled(increasing(5, 9)), "number"),
    "sizes of families, from zero": ("family", drawn(0, 8), "ordered"),
    "a case or not": ("case", drawn(0, 2), "flag"),
    "fractions, whatever the name": ("id", np.arange(N) / 8 + 0.3, "number"),
}  # fmt: skip

SCALES = {
    "answers": ("q", drawn(1, 7), "ordered"),
    "answers from zero": ("q", drawn(0, 11), "ordered"),
    "answers around zero": ("q", drawn(-3, 4), "ordered"),
    "cylinders": ("cylinders", RNG.choice([4, 6, 8], N), "ordered"),
    "zeros and ones": ("q", drawn(0, 2), "flag"),
    "ones and twos": ("q", drawn(1, 3), "flag"),
    "two fractions": ("q", RNG.choice([0.5, 1.25], N), "flag"),
    "tens": ("q", 10 * drawn(1, 4), "number"),
    "halves": ("q", drawn(1, 7) / 2, "number"),
    "many": ("q", drawn(0, 15), "number"),
    "recent years": ("wave", drawn(2015, 2020), "number"),
    "few rows for each": ("q", np.repeat(np.arange(10), 1), "number"),
    "text of two words": ("q", RNG.choice(["left", "right"], N), "flag"),
    "text of three words": ("q", RNG.choice(["left", "right", "both"], N), "category"),
    "booleans": ("q", RNG.choice(["True", "False"], N), "flag"),
}


def written(tmp_path, **columns):
    frame = pd.DataFrame({"measured": MEASURED[: len(next(iter(columns.values())))]} | columns)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.parametrize("case", [*NAMED, *SCALES])
def test_each_column_by_itself(tmp_path, case):
    name, values, kind = (NAMED | SCALES)[case]
    column = read_table(written(tmp_path, **{name: values})).columns[1]
    assert (column.kind, column.used) == (kind, kind != "identifier")
    assert column.why
    alone = tmp_path / "alone.csv"
    pd.DataFrame({name: values}).to_csv(alone, index=False)
    assert read_table(alone).columns[0].kind == kind  # with or without a measurement beside it


@pytest.mark.parametrize("case", NAMED)
def test_the_same_from_a_sample_of_the_rows(tmp_path, monkeypatch, case):
    """A table in parts is decided from some of its rows, and must be decided as one in memory."""
    from fusewise.tables import ReadOptions, _rereading

    name, values, kind = NAMED[case]
    monkeypatch.setattr(_rereading, "SAMPLED_ROWS", 120)
    frame = pd.DataFrame({"measured": MEASURED, name: values})
    files = [tmp_path / f"part-{k}.csv" for k in range(4)]
    for k, file in enumerate(files):
        frame[60 * k : 60 * k + 60].to_csv(file, index=False)
    grids = [_rereading.sampled_rows(file, k, 4, ReadOptions()) for k, file in enumerate(files)]
    sample = _rereading.read_sample(tmp_path, files, grids, ReadOptions(), 4)
    assert sample.n_rows == 120
    assert sample.columns[1].kind == kind


def test_a_frame_is_warned_of_by_name():
    frame = pd.DataFrame({"measured": MEASURED, "PatientNo": increasing(1), "age": drawn(18, 90)})
    with pytest.warns(DataWarning, match=r"column 'PatientNo' .* leave it out") as caught:
        FusionClustering(n_clusters=2).fit(frame)
    assert len([w for w in caught if "leave it out" in str(w.message)]) == 1


def two_groups():
    groups = np.repeat([0, 1], N // 2)
    rng = np.random.default_rng(5)
    flags = (rng.random((N, 6)) < np.where(groups[:, None] == 1, 0.85, 0.15)).astype(int)
    return flags, rng.normal(size=N).round(2) + 2 * groups


@pytest.mark.parametrize("spelling", [(1, 2), ("no", "yes"), ("False", "True"), ("male", "female"), (0.5, 1.5)])
def test_two_values_give_the_same_clusters_however_they_are_spelt(tmp_path, spelling):
    flags, x = two_groups()
    labels = []
    for words in ((0, 1), spelling):
        columns = {f"f{j}": np.array(words, dtype=object)[flags[:, j]] for j in range(6)}
        pd.DataFrame({"x": x} | columns).to_csv(tmp_path / "t.csv", index=False)
        reading = read_table(tmp_path / "t.csv")
        assert {column.kind for column in reading.used[1:]} == {"flag"}
        labels.append(FusionClustering(random_state=0).fit(reading).labels_)
    np.testing.assert_array_equal(*labels)


def test_two_values_of_a_frame_are_encoded_alike():
    from fusewise.tables import FrameEncoder

    flags = np.array([0, 1, 1, 0, 1] * 4)
    columns = {
        "bool": flags == 1,
        "text": np.array(["a", "b"])[flags],
        "category": pd.Categorical(np.array(["a", "b"])[flags]),
        "ordered": pd.Categorical(np.array(["a", "b"])[flags], ordered=True),
        "numbers": pd.Categorical(flags),
    }
    for made in columns.values():
        encoder = FrameEncoder.of(pd.DataFrame({"y": made}))
        np.testing.assert_array_equal(encoder.encode(pd.DataFrame({"y": made})), np.column_stack([1 - flags, flags]))
        assert (encoder.levels, encoder.ordered) == (((0, 2),), (False,))


#: Values, and the code that must be reported; None: nothing may be.
CODES = {
    "nine after six": ([*drawn(1, 7), *[9] * 10], 9),
    "nine after seven": ([*drawn(1, 8), *[9] * 10], 9),
    "nine after a flag": ([*drawn(0, 2), *[9] * 10], 9),
    "sixty ages of 99": ([*drawn(18, 91), *[99] * 60], 99),
    "999 among weights": ([*drawn(40, 120), 999], 999),
    "-1 among counts": ([*drawn(0, 40), -1, -1], -1),
    "any number beyond a gap": ([*drawn(1, 6), *[12] * 10], 12),
    "-200 of a sensor": ([*drawn(20, 199), *[-200] * 20], -200),
    "0 among pressures": ([*drawn(980, 1040), *[0] * 6], 0),
    "99.9 among fractions": ([*(drawn(300, 420) / 10), *[99.9] * 8], 99.9),
    "a rare large count": ([*drawn(0, 6), 8], None),
    "the tail of counts": ([*drawn(0, 5), 5, 5, 6, 7, 9], None),
    "values cut off at -1": ([*np.maximum(np.random.default_rng(8).normal(size=N).round(3), -1)], None),
    "a scale to nine": (drawn(1, 10), None),
    "a scale to ten": (drawn(0, 11), None),
    "ages up to 99": (drawn(18, 100), None),
    "percentages": (drawn(0, 101), None),
    "cylinders": (RNG.choice([3, 4, 5, 6, 8], N), None),
    "temperatures": (drawn(-20, 35), None),
    "zeros and amounts": ([*drawn(100, 900), *[0] * 60], None),
}


@pytest.mark.parametrize("case", CODES)
def test_a_code_for_missing_is_reported_with_its_remedy(tmp_path, case):
    values, code = CODES[case]
    pd.DataFrame({"q": values, "x": np.arange(len(values)) % 7 / 8}).to_csv(tmp_path / "t.csv", index=False)
    notes = [note for note in read_table(tmp_path / "t.csv").notes if "missing value" in note]
    if code is None:
        assert notes == []
        return
    assert len(notes) == 1
    assert f"--missing 'q={code}'" in notes[0]
    told = read_table(tmp_path / "t.csv", missing={"q": code})
    assert told.notes == []
    count = values.count(code)
    assert np.isnan(told.columns[0].values).sum() == count
    assert f"{count} missing ('{code}'" in told.columns[0].why


def test_markers_of_one_column_leave_the_others(tmp_path):
    frame = pd.DataFrame({"age": [9, 30, 99, 41, 9, 28], "q1": [9, 1, 2, 9, 3, 1], "q2": [1, 9, 2, 3, 1, 2]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    read = read_table(tmp_path / "t.csv", missing={"age": 99, "q*": [9, "8"]}, kinds={"q*": "ordered"})
    assert read.frame["age"].isna().tolist() == [False, False, True, False, False, False]
    assert read.frame["q1"].isna().tolist() == [True, False, False, True, False, False]
    assert read.frame["q2"].isna().tolist() == [False, True, False, False, False, False]
    assert [column.categories for column in read.columns[1:]] == [("1", "2", "3")] * 2


def test_patterns_name_columns(tmp_path):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({name: rng.integers(1, 40, 30) for name in ("A1", "A2", "C1", "q_1", "q_2", "z,1")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    kinds = {"A*,C*": "ordered", "q_*": "category", "z,1": "category"}
    read = read_table(tmp_path / "t.csv", kinds=kinds, ignore=["A2,q_?"])
    found = {column.name: (str(column.kind), column.used) for column in read.columns}
    assert found == {
        "A1": (Kind.ORDERED, True), "A2": (Kind.NUMBER, False), "C1": (Kind.ORDERED, True),
        "q_1": (Kind.NUMBER, False), "q_2": (Kind.NUMBER, False), "z,1": (Kind.CATEGORY, True),
    }  # fmt: skip


#: Columns of a file, and the one that names the rows.
ROW_NAMES = {
    "a count beside names": ({"Unnamed: 0": range(4), "name": ["Ann", "Bob", "Cid", "Dee"]}, "name"),
    "Rdatasets": ({"rownames": range(1, 5), "Model": ["Mazda RX4", "Datsun", "Hornet", "Duster"]}, "Model"),
    "an id before names": ({"id": [3, 1, 2, 4], "country": ["Chad", "Mali", "Peru", "Togo"]}, "country"),
    "an id and remarks": ({"id": [3, 1, 2, 4], "said": [f"{k} " + 30 * "so " for k in range(4)]}, "id"),
    "names after numbers": ({"x": [3, 1, 2, 4], "town": ["Ulm", "Bern", "Graz", "Wien"]}, None),
    "numbers only": ({"x": [3, 1, 2, 4], "PatientNo": [7, 4, 5, 9]}, "PatientNo"),
    "names that repeat": ({"id": [3, 1, 2, 4], "name": ["Ann", "Ann", "Bob", "Bob"]}, "id"),
}


@pytest.mark.parametrize("case", ROW_NAMES)
def test_words_name_rows_before_numbers_do(tmp_path, case):
    columns, expected = ROW_NAMES[case]
    pd.DataFrame(columns | {"y": [0.5, 1.5, 2.5, 3.25]}).to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv").names_column == expected


MORE = np.random.default_rng(0)
SCORE = {"score": MORE.normal(size=N).round(2)}
AGE = {"age": MORE.integers(18, 91, N)}
ANSWERS = {f"{scale}{k}": MORE.integers(1, 7, N) for scale in "ACENO" for k in range(1, 6)}
DAYS = pd.Timestamp("2015-03-01") + pd.to_timedelta([0, *MORE.integers(1, 2000, N - 1)], "D")
ORDERED = dict.fromkeys(ANSWERS, "ordered")
#: What becomes of a column of dates that is called `when`.
WHEN = {"when": "date", "when (days since 2015-03-01)": "number", "when (month)": "ordered"}


def numbered(start, step=1):
    return MORE.permutation(np.arange(start, start + step * N, step))


def in_runs(size, start=1):
    return start + np.arange(N) // size


def with_some(values, code, count=12):
    """The values, some of them replaced by a code."""
    return [code if k % (N // count) == 0 else value for k, value in enumerate(values)]


#: Columns, and what they become: a kind, with a minus if it is not used; then options, and words of the only note.
FRAMES = {
    "pupils": (SCORE | {"pupilNR": numbered(1), "schid": in_runs(20), "distid": in_runs(80)},
               {"score": "number", "pupilNR": "-identifier", "schid": "category", "distid": "category"}),
    "many schools": (SCORE | {"schid": in_runs(4), "distid": in_runs(8)},
                     {"score": "number", "schid": "-identifier", "distid": "-identifier"}),
    "a panel": (SCORE | {"idcode": in_runs(5), "year": np.tile(range(2001, 2006), N // 5)},
                {"score": "number", "idcode": "-identifier", "year": "number"}),
    "flights": (SCORE | {"flight": MORE.integers(1, 6000, N), "hour": MORE.integers(5, 24, N)},
                {"score": "number", "flight": "-identifier", "hour": "number"}),
    "ids with gaps": (SCORE | {"respid": with_some(numbered(1), None)}, {"score": "number", "respid": "-identifier"}),
    "postcodes and telephones": (SCORE | {"zip_code": numbered(10_000, 37), "phone": numbered(30_000_000, 91)},
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
    "flags": ({"sex": MORE.choice(["M", "F"], N), "smokes": MORE.choice([1, 2], N), "wet": MORE.choice([0.0, 1.0], N),
               "ill": MORE.choice(["yes", "no"], N), "dose": MORE.choice([2.5, 10], N)},
              dict.fromkeys(["sex", "smokes", "wet", "ill", "dose"], "flag")),
    "9 on a scale to 6": (ANSWERS | {"A1": with_some(ANSWERS["A1"], 9)}, ORDERED, {},
                          "column 'A1': 9 (12 cells) is beyond"),
    "ages of 99": ({"age": with_some(AGE["age"], 99, 60)}, {"age": "number"}, {},
                   "column 'age': 99 (60 cells) is in many"),
    "ages of 99 told": ({"age": with_some(AGE["age"], 99, 60)}, {"age": "number"}, {"missing": {"age": [99]}}),
    "ages of 9 are no answers": ({"age": MORE.integers(5, 14, N), "q": with_some(ANSWERS["A1"], 9)},
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
