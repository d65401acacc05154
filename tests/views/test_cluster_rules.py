"""Rules select the same rows as text and as SQL in SQLite."""

import sqlite3
from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from fusewise.views._columns import TableColumn
from fusewise.views._rules import (
    ClusterRule,
    Condition,
    judged,
    search,
    short_limit,
    sql_name,
)


def rows_by_sql(frame, query, name):
    """Positions of the rows that a query selects, from a database in memory."""
    with sqlite3.connect(":memory:") as base:
        stored = frame.astype(object).where(frame.notna(), None)
        columns = ", ".join(map(sql_name, ("place", *stored.columns)))
        base.execute(f"CREATE TABLE {sql_name(name)} ({columns})")
        marks = ", ".join("?" * (len(stored.columns) + 1))
        rows = [(place, *map(plain, row)) for place, row in enumerate(stored.itertuples(index=False))]
        base.executemany(f"INSERT INTO {sql_name(name)} VALUES ({marks})", rows)
        return sorted(row[0] for row in base.execute(query))


def plain(cell):
    return cell.item() if isinstance(cell, np.generic) else cell


def test_text_and_sql_select_the_same_rows(described, frame):
    for rule in described.rules:
        met = np.flatnonzero(rule.met(described._findings.columns)).tolist()
        assert len(met) == rule.n_rows > 0
        assert rows_by_sql(frame, rule.as_sql('a "table"; --'), 'a "table"; --') == met


@pytest.mark.parametrize("word", ["O'Neil", '"', "'; DROP TABLE t; --", "a\nb", "Ωμέγα", "\\", "{x}", '"""'])
def test_any_word_is_quoted(word):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({word: ["b", word, None, word]})
    rule = ClusterRule(0, (Condition(word, "in", levels=(word,), kind="category"),), 1.0, 1.0, 2)
    assert rows_by_sql(frame, rule.as_sql("t"), "t") == [1, 3]
    numbers = pandas.DataFrame({word: [1.0, 3.0, None, 2.5]})
    rule = ClusterRule(0, (Condition(word, ">", 2.0),), 1.0, 1.0, 2)
    assert rows_by_sql(numbers, rule.as_sql("t"), "t") == [1, 3]


def tokens(query, escapes):
    """The quoted strings of a query, and what is left of it, as a database reads it that takes backslashes so."""
    strings, rest, at = [], "", 0
    while at < len(query):
        quote = query[at]
        if quote not in "'\"":
            rest, at = rest + quote, at + 1
            continue
        word, at = "", at + 1
        while at < len(query):
            sign = query[at]
            if escapes and quote == "'" and sign == "\\":
                word, at = word + query[at + 1], at + 2
            elif query[at : at + 2] == 2 * quote:
                word, at = word + quote, at + 2
            elif sign == quote:
                break
            else:
                word, at = word + sign, at + 1
        strings, at = [*strings, word], at + 1
    return strings, rest


@pytest.mark.parametrize("word", [
    "\\' OR 1=1; DROP TABLE t; --", "\\", "a\\\\' OR 1=1 --", "\\'\\'", "'\\", "C:\\new\\", "x\\", "\\'; --\\", "%\\'",
])  # fmt: skip
def test_a_backslash_does_not_end_a_string_where_it_escapes(word):
    """Snowflake, BigQuery and MySQL take a backslash and a quotation mark for a quotation mark."""
    pandas = pytest.importorskip("pandas")
    other = word.replace("\\", "b").replace("'", ".")
    frame = pandas.DataFrame({"x": ["b", word, None, word, other, word.replace("'", "."), word + "."]})
    same = [k for k, cell in enumerate(frame["x"]) if cell == word]
    for levels in ((word,), (word, "b"), (word, "b", "c")):
        rule = ClusterRule(0, (Condition("x", "in", levels=levels, kind="category"),), 1.0, 1.0, 2)
        query = rule.as_sql("t")
        others = [k for k, cell in enumerate(frame["x"]) if cell == "b"] if "b" in levels else []
        assert rows_by_sql(frame, query, "t") == sorted(same + others)
        for escapes in (False, True):
            left = tokens(query, escapes)[1]
            assert not {"DROP", "1=1", "--"} & set(left.replace(";", " ").split()), left
            assert left.count(";") == 1


def test_an_empty_word_is_a_level_and_not_a_missing_value():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": ["b", "", None, ""]})
    rule = ClusterRule(0, (Condition("x", "in", levels=("",), kind="category"),), 1.0, 1.0, 2)
    assert rows_by_sql(frame, rule.as_sql("t"), "t") == [1, 3]
    flag = ClusterRule(0, (Condition("x", "in", levels=(True,), kind="flag"),), 1.0, 1.0, 1)
    flags = pandas.DataFrame({"x": [False, None, True, np.nan]}, dtype=object)
    assert rows_by_sql(flags, flag.as_sql("t"), "t") == [2]


def test_numbers_that_mean_missing_do_not_match():
    pandas = pytest.importorskip("pandas")
    values = np.array([np.nan, 1, 2, 8, 9, np.nan])
    column = TableColumn("x", "number", values, markers=(-99.0, 999.0))
    for member, selected in (([1, 2], [1, 2]), ([3, 4], [3, 4])):
        inside = np.isin(np.arange(6), member)
        rule = judged(0, search([column], inside), [column], inside)
        written = pandas.DataFrame({"x": np.nan_to_num(values, nan=-99.0)})
        written.loc[5, "x"] = 999.0
        assert rows_by_sql(written, rule.as_sql("t"), "t") == selected


def test_the_best_single_condition_by_trying_all():
    """Of all limits of two columns none has a larger F1 score than the first condition, if one is enough."""
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], [30, 50])
    columns = [TableColumn(name, "number", rng.normal(shift * member, 1)) for name, shift in (("a", 1.0), ("b", 4.0))]
    columns[1].values[::9] = np.nan

    def f1(met):
        return 2 * (met & member).sum() / (met.sum() + member.sum())

    scores = [
        f1(column.values > limit if above else column.values <= limit)
        for column, above in product(columns, (True, False))
        for limit in column.values[~np.isnan(column.values)]
    ]
    rule = ClusterRule(0, search(columns, member)[:1], 0, 0, 0)
    assert f1(rule.met(columns)) == pytest.approx(max(scores))


def test_levels_are_joined_and_pooled_ones_never_named():
    codes = np.repeat(np.arange(4.0), 10)
    column = TableColumn("c", "category", codes, ("a", "b", "c", "(other)"))
    assert [str(c) for c in search([column], codes < 2)] == ["c is a or b"]
    assert [str(c) for c in search([column], codes < 3)] == ["c is a, b or c"]
    assert search([column], codes == 3) == ()


def test_nothing_to_find():
    column = TableColumn("x", "number", np.zeros(10))
    assert search([column], np.arange(10) < 5) == ()
    assert search([column], np.ones(10, bool)) == ()
    rule = judged(0, (), [column], np.arange(10) < 5)
    assert (str(rule), rule.n_rows) == ("no rule", 0)
    assert rows_by_sql(__import__("pandas").DataFrame({"x": [1, 2]}), rule.as_sql("t"), "t") == []


@pytest.mark.parametrize(("low", "high"), [(12.78, 12.85), (0.1, 0.2), (1e-9, 2e-9), (1234.5, 1234.9), (-7.31, -7.22)])
def test_no_shorter_limit_lies_between(low, high):
    found = short_limit(low, high)
    assert low <= found < high
    digits = len(Decimal(repr(found)).normalize().as_tuple().digits)
    for power in range(-12, 6):
        for whole in range(-(10 ** (digits - 1)) + 1, 10 ** (digits - 1)):
            assert not Decimal(low) <= Decimal(whole).scaleb(power) < Decimal(high)
