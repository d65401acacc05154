# ruff: noqa: E501
"""Files and the frames they must become: a file's content, then what its columns hold (None: missing)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class File:
    """A file, how to read it, and the result.

    Attributes
    ----------
    content : text (written as UTF-8) or bytes.
    frame : name of each column that is used -> values: numbers, text (categories) or bools (flags).
    other : name of each column that is not in the frame -> its kind.
    kinds : kinds that the values do not show: "ordered", "flag" for two values other than True and False.
    options : of ``read_table``.
    note : words that must be among the notes; "" where there must be none; None: any.
    """

    content: str | bytes
    frame: dict[str, list[Any]]
    other: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    note: str | None = ""
    name: str = "t.csv"


AB = {"a": [1.5, 2.5, None], "b": [10.0, 20.0, 30.0]}
XY = {"x": [1.5, 2.25, 4.0, 8.0]}
X = ["1.5", "2.25", "4", "8"]
PLAIN = "a,b\n1.5,10\n2.5,20\n,30\n"


def beside(*cells: str, name: str = "y", quote: bool = False, sep: str = ",") -> str:
    """A column beside the numbers 1.5, 2.25, 4, 8 (and on)."""
    shown = [f'"{cell}"' if quote else cell for cell in cells]
    numbers = [X[k] if k < 4 else f"{k}.75" for k in range(len(cells))]
    return "\n".join([f"x{sep}{name}", *(f"{x}{sep}{cell}" for x, cell in zip(numbers, shown, strict=True))]) + "\n"


def numbers_beside(n: int) -> list[float]:
    """What the numbers of ``beside`` are."""
    return [float(X[k]) if k < 4 else k + 0.75 for k in range(n)]


def number(*cells: str, become: list[float | None], note: str | None = "", quote: bool = True, **options: Any) -> File:
    """A column of numbers as people write them."""
    frame = {"x": numbers_beside(len(cells)), "y": become}
    return File(beside(*cells, quote=quote), frame, options=options, note=note)


def column(*cells: str, kind: str, name: str = "y", note: str | None = "", **options: Any) -> File:
    """A column that is not used, of some kind."""
    frame = {"x": numbers_beside(len(cells))}
    return File(beside(*cells, name=name, quote=True), frame, {name: kind}, options=options, note=note)


def category(
    *cells: str, become: list[Any], note: str | None = "", name: str = "y", kind: str = "", **options: Any
) -> File:
    """A column of categories or flags."""
    frame = {"x": numbers_beside(len(cells)), name: become}
    return File(
        beside(*cells, name=name, quote=True), frame, kinds={name: kind} if kind else {}, options=options, note=note
    )


def dates(*cells: str, name: str = "y", note: str | None = "", **features: list[Any]) -> File:
    """A column of dates and what becomes of it: days_since_2020_01_01=[...], month=[...]."""
    made = {f"{name} ({_spelt(feature)})": values for feature, values in features.items()}
    kinds = {feature: "ordered" for feature in made if feature.endswith("(month)")}
    return File(
        beside(*cells, name=name, quote=True),
        {"x": numbers_beside(len(cells))} | made,
        {name: "date"},
        kinds,
        note=note,
    )


def _spelt(feature: str) -> str:
    unit, since, start = feature.partition("_since_")
    return f"{unit} since {start.replace('_', '-')}" if since else unit


SEPARATORS = {
    "comma": File(PLAIN, AB),
    "semicolon": File(PLAIN.replace(",", ";"), AB),
    "tab": File(PLAIN.replace(",", "\t"), AB),
    "tab in a .tsv": File(PLAIN.replace(",", "\t"), AB, name="t.tsv"),
    "pipe": File(PLAIN.replace(",", "|"), AB),
    "told": File(PLAIN.replace(",", "~"), AB, options={"sep": "~"}),
    "told by name": File(PLAIN.replace(",", "\t"), AB, options={"sep": "tab"}, name="t.dat"),
    "semicolon and decimal commas": File("a;b\n1,5;10\n2,5;20\n;30\n", AB),
    "commas inside quotes": File('a,b,c\n1.5,10,"p, q"\n2.5,20,"p, q"\n,30,r\n4,40,r\n',
                                 {"a": [1.5, 2.5, None, 4], "b": [10, 20, 30, 40], "c": ["p, q", "p, q", "r", "r"]}),
    "a blank before quotes": File('a, b, c\n1, 2, "p, q"\n2, 3, "p, q"\n3, 5, r\n4, 6, r\n',
                                  {"a": [1, 2, 3, 4], "b": [2, 3, 5, 6], "c": ["p, q", "p, q", "r", "r"]}),
    "a line for Excel": File("sep=;\na;b\n1,5;10\n2,5;20\n;30\n", AB),
    "a comma in the only text of a semicolon file": File("a;b;c, d\n1;2;p\n2;4;p\n3;9;q\n4;7;q\n",
        {"a": [1, 2, 3, 4], "b": [2, 4, 9, 7], "c, d": ["p", "p", "q", "q"]}),
    "Windows line ends": File(PLAIN.replace("\n", "\r\n"), AB),
    "blank lines": File(PLAIN.replace("2.5", "\n2.5"), AB),
    "a separator at the end of each row": File("a,b\n1.5,10,\n2.5,20,\n,30,\n", AB),
    "R's row names": File("a,b\nr1,1.5,10\nr2,2.5,20\nr3,,30\n", AB, {"": "identifier"}, note="the first column is taken as row names"),
    "duplicate names": File("a,b,a\n1.5,10,3\n2.5,20,5\n,30,8\n", AB | {"a (2)": [3, 5, 8]},
                            note="column 3 is named 'a' like another: it is called 'a (2)' here"),
    "a title": File("Prices of 2024\n\nsource: me\na,b,c\n1.5,10,1\n2.5,20,5\n,30,2\n", AB | {"c": [1, 5, 2]},
                    note="the lines above the header were left out: 'Prices of 2024', 'source: me'"),
    "a title with separators": File("Prices,,\na,b,c\n1.5,10,1\n2.5,20,5\n,30,2\n", AB | {"c": [1, 5, 2]},
                                    note="left out: 'Prices'"),
    "a title above two columns": File("Prices\na;b\n1.5;10\n2.5;20\n;30\n", AB, note="left out: 'Prices'"),
    "a title with a comma": File("Prices, in euros\na,b,c\n1.5,10,1\n2.5,20,5\n,30,2\n", AB | {"c": [1, 5, 2]},
                                 note="left out: 'Prices in euros'"),
    "titles and years, as of the World Bank": File(
        '"Source","Indicators",\n\n"Updated","2024-01-01",\n\n"Land","2001","2002",\n"Chad",1.5,10,\n"Mali",2.5,20,\n"Peru",3.5,30,\n',
        {"2001": [1.5, 2.5, 3.5], "2002": AB["b"]}, {"Land": "identifier", "column 4": "empty"}, note="left out: 'Source Indicators', 'Updated 2024-01-01'"),
    "remarks below": File("a,b,c\n1.5,10,1\n2.5,20,5\n,30,2\n\nSource: me\nin 2024\n", AB | {"c": [1, 5, 2]},
                          note="the lines below the table were left out: 'Source: me', 'in 2024'"),
    "missing ones below": File("a,b,c\n1.5,10,1\n2.5,20,5\n\n,30,\n", AB | {"c": [1, 5, None]}),
    "colons for missing": File("a,b\n1.5,10\n2.5,20\n:,30\n", AB),
    "a header with blank names": File(",a,,b\nr1,1.5,1,10\nr2,2.5,5,20\nr3,,2,30\n", {"a": AB["a"], "column 3": [1, 5, 2], "b": AB["b"]},
                                      {"": "identifier"}),
    "lines to skip": File("x,y\n1,2\n" + PLAIN, AB, options={"skip_rows": 2}),
    "comments": File("# made by me\n# in 2024\n" + PLAIN + "# the end\n", AB, note="3 lines starting with '#' left out as comments"),
    "a header in a comment": File("# made by me\n#a,b\n1.5,10\n2.5,20\n,30\n", AB, note="1 line starting with '#' left out"),
    "comments of another sign": File("% made by me\n" + PLAIN + "% the end\n", AB, options={"comment": "%"}),
    "a hash inside": File('a,b,c\n1.5,10,"#1"\n2.5,20,"#2"\n,30,"#1"\n4,40,"#2"\n',
                          {"a": [1.5, 2.5, None, 4], "b": [10, 20, 30, 40], "c": ["#1", "#2", "#1", "#2"]}),
    "blanks": File("a b c\n1.5 10 p\n2.5 20 q\nNA 30 p\n4 40 q\n",
                   {"a": [1.5, 2.5, None, 4], "b": [10, 20, 30, 40], "c": ["p", "q", "p", "q"]}),
    "aligned by blanks": File("   a   b\n 1.5  10\n 2.5  20\n  NA  30\n", AB, name="t.txt"),
    "aligned words": File("name       a    b\nAnn Lee  1.5   10\nBob      2.5   20\nCy Ray         30\n", AB,
                          {"name": "identifier"}, name="t.txt"),
    "R's write.table": File('"a" "b"\n"r 1" 1.5 10\n"r 2" 2.5 20\n"r 3" NA 30\n', AB, {"": "identifier"},
                            note="the first column is taken as row names", name="t.txt"),
    "R's write.table without quotes": File("a b\n1 1.5 10\n2 2.5 20\n3 NA 30\n", AB, {"": "identifier"},
                                           note="the first column is taken as row names", name="t.txt"),
    "R's write.table, tabs": File("a\tb\nr1\t1.5\t10\nr2\t2.5\t20\nr3\tNA\t30\n", AB, {"": "identifier"},
                                  note="the first column is taken as row names", name="t.txt"),
    "one column of sentences": File("said\nnot at all\nyes it is\nnot at all\nyes it is\n",
                                    {"said": ["not at all", "yes it is", "not at all", "yes it is"]}),
    "no header, twice the same": File("1,0,1\n0,1,1\n1,1,0\n1,0,2\n0,1,3\n", {
        "column1": [True, False, True, True, False], "column2": [False, True, True, False, True], "column3": [1, 1, 0, 2, 3]},
        note="there is no header"),
    "one column of numbers with a name of two words": File("house price\n1.5\n2.25\n4\n8\n", {"house price": [1.5, 2.25, 4, 8]}),
    "no header, with words": File("1.5,p,10\n2.5,q,20\n,p,30\n4,q,40\n", {"column1": [1.5, 2.5, None, 4],
        "column2": ["p", "q", "p", "q"], "column3": [10, 20, 30, 40]}, note="there is no header"),
    "numbers in a header": File("gene,0.5,1\nA,1.5,10\nB,2.5,20\nC,,30\n", {"0.5": AB["a"], "1": AB["b"]}, {"gene": "identifier"}),
    "no header": File("1.5,10\n2.5,20\n,30\n", {"column1": AB["a"], "column2": AB["b"]}, note="there is no header"),
}  # fmt: skip

UMLAUT = PLAIN.replace("a", "größe", 1)
SIZES = {"größe": AB["a"], "b": AB["b"]}
ENCODINGS = {
    "utf-8": File(UMLAUT.encode(), SIZES),
    "utf-8 with its mark": File(UMLAUT.encode("utf-8-sig"), SIZES),
    "utf-16": File(UMLAUT.encode("utf-16"), SIZES),
    "utf-16, big end first": File(b"\xfe\xff" + UMLAUT.encode("utf-16-be"), SIZES),
    "utf-32": File(UMLAUT.encode("utf-32"), SIZES),
    "latin-1": File(UMLAUT.encode("latin-1"), SIZES, note="read as Windows-1252"),
    "cp1252": File(PLAIN.replace("a", "a (€)", 1).encode("cp1252"), {"a (€)": AB["a"], "b": AB["b"]},
                   note="not UTF-8 (byte 4): read as Windows-1252"),
}  # fmt: skip

NUMBERS = {
    "dollars": number("$1,200.50", "$3", "-$4.10", "$-5", become=[1200.5, 3, -4.1, -5]),
    "euros after": number("12.50 €", "3 €", "4.1€", "", become=[12.5, 3, 4.1, None]),
    "a currency's code": number("USD 12", "USD 13.5", "14 USD", "15", become=[12, 13.5, 14, 15]),
    "Brazilian": number("R$ 12", "R$ 13.5", "R$14", "R$15", become=[12, 13.5, 14, 15]),
    "percent": number("12%", "13.5 %", "-4%", "0%", become=[12, 13.5, -4, 0]),
    "kilograms": number("12 kg", "13.5kg", "14 kg", "n/a", become=[12, 13.5, 14, None]),
    "a unit in some": number("12 kg", "13.5 kg", "14 kg", "15", become=[12, 13.5, 14, 15]),
    "singular and plural": number("1 year", "2 years", "3 years", "10 years", become=[1, 2, 3, 10]),
    "speeds": number("12 km/h", "13 km/h", "14 km/h", "9 km/h", become=[12, 13, 14, 9]),
    "areas": number("12 m2", "13 m2", "14.5 m2", "9 m2", become=[12, 13, 14.5, 9]),
    "degrees": number("12.1°C", "-3°C", "14 °C", "9°C", become=[12.1, -3, 14, 9]),
    "thousands by commas": number("1,200", "12,345,678", "999", "5", become=[1200, 12345678, 999, 5]),
    "thousands as in India": number("12,34,567", "1,20,000", "999", "5", become=[1234567, 120000, 999, 5]),
    "thousands by apostrophes": number("1'200", "12’345.5", "999", "5", become=[1200, 12345.5, 999, 5]),
    "thousands by blanks": number("1 200", "12 345.5", "999", "5", become=[1200, 12345.5, 999, 5]),
    "thousands by narrow blanks": number("1\u202f200", "12\u00a0345.5", "999", "5", become=[1200, 12345.5, 999, 5]),
    "parentheses after the currency": number("$(1,200.50)", "$ (3)", "$4", "$5", become=[-1200.5, -3, 4, 5]),
    "a minus after the number": number("12.50-", "3-", "4", "5.00-", become=[-12.5, -3, 4, -5]),
    "signs instead of cents": number("5.-", "12.--", "4.50", "120.-", become=[5, 12, 4.5, 120]),
    "parentheses": number("(1,200.50)", "($3)", "4", "5", become=[-1200.5, -3, 4, 5], note=None),
    "a true minus": number("\u22121.5", "\u22122", "3", "4", become=[-1.5, -2, 3, 4]),
    "exponents": number("1e3", "1.5E-2", "-2e+1", "4", become=[1000, 0.015, -20, 4]),
    "no digit before the point": number(".5", "-.25", "3.", "4", become=[0.5, -0.25, 3, 4]),
    "years stay numbers": number("1999", "2004", "2010", "2024", become=[1999, 2004, 2010, 2024]),
    "five unknown in 200": number(
        *["unknown" if k % 40 == 0 else f"{k % 90}" for k in range(200)], quote=False,
        become=[None if k % 40 == 0 else float(k % 90) for k in range(200)],
        note="column 'y': 5 cells are not numbers and were treated as missing: 'unknown' (5); the first is in row 1"),
    "two words in 100": number(
        *["pending" if k == 7 else "not done" if k == 8 else f"{k % 41}" for k in range(100)], quote=False,
        become=[None if k in (7, 8) else float(k % 41) for k in range(100)], note="'pending' (1), 'not done' (1)"),
    "spreadsheet errors": number("1", "#DIV/0!", "#N/A", "4", become=[1, None, None, 4]),
}  # fmt: skip

DECIMALS = {
    "44.598 beside 9.693,45": File("a;b\n44.598;1\n9.693,45;2\n120;3\n", {"a": [44598, 9693.45, 120], "b": [1, 2, 3]}),
    "decided by another column": File("a;b\n44.598;1,5\n12.000;2\n", {"a": [44598, 12000], "b": [1.5, 2]}),
    "a point in another column": File("a;b\n44.598;1.5\n12.000;2\n", {"a": [44.598, 12], "b": [1.5, 2]}),
    "a zero before it": File("a;b\n0.598;1\n12.000;2\n", {"a": [0.598, 12], "b": [1, 2]}),
    "two groups": File("a;b\n1.234.567;1\n12.000;2\n", {"a": [1234567, 12000], "b": [1, 2]}),
    "four digits without a group": File("a;b\n1.234;1\n5678;2\n", {"a": [1.234, 5678], "b": [1, 2]}),
    "three decimals between commas": File("a,b\n1.234,1\n2.345,2\n", {"a": [1.234, 2.345], "b": [1, 2]}),
    "thousands between commas": File('a,b\n"1,234",1\n"2,345",2\n', {"a": [1234, 2345], "b": [1, 2]}),
    "decimal commas between commas": File('a,b\n"1,5",1\n"2,25",2\n', {"a": [1.5, 2.25], "b": [1, 2]}),
    "decimal commas between tabs": File("a\tb\n1,5\t1\n2,25\t2\n", {"a": [1.5, 2.25], "b": [1, 2]}),
    "told a comma": File("a;b\n1.234;1\n2.345;2\n", {"a": [1234, 2345], "b": [1, 2]}, options={"decimal": ","}),
    "told a point": File("a;b\n1.234;1\n2.345;2\n", {"a": [1.234, 2.345], "b": [1, 2]}, options={"decimal": "."}),
    "told a comma, euros": File("a;b\n€ 1.234;1\n€ 2.345,50;2\n", {"a": [1234, 2345.5], "b": [1, 2]}),
    "blanks between thousands, decimal commas": File("a;b\n1 234,5;1\n12 000;2\n", {"a": [1234.5, 12000], "b": [1, 2]}),
    "incomes in brackets are no decimal commas": File(
        "a,b\n" + '1.5,"$25,000 - $49,999"\n2.5,"$50,000 - $99,999"\n3.5,150000\n' * 4,
        {"a": [1.5, 2.5, 3.5] * 4, "b": ["$25,000 - $49,999", "$50,000 - $99,999", "150000"] * 4}, {"b": "category"}),
    "whole numbers only": File("a;b\n1;10\n2;20\n", {"a": [1, 2], "b": [10, 20]}),
    "a column left out does not decide": File("a;b;c\n1;1.234;0,5\n2;2.345;0,7\n", {"a": [1, 2], "c": [0.5, 0.7]},
                                              {"b": "number"}, options={"ignore": ["b"]}),
    "text does not decide": File("a;b\n1,5;v1.2\n2,5;v1.2\n3,5;v1.3\n4;v1.3\n",
                                 {"a": [1.5, 2.5, 3.5, 4], "b": ["v1.2", "v1.2", "v1.3", "v1.3"]}),
}  # fmt: skip

BAGS = ["None", "Driver only", "Driver & Passenger"] * 4
ANSWERS = ["none", "some", "a lot"] * 4
MARKERS = {
    f"marker {marker!r}": number("1", marker, "3", "4", become=[1, None, 3, 4])
    for marker in ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", "-", "--", ".", "<NA>", " na ")
} | {
    "None among air bags": category(*BAGS, become=BAGS, note="'None' (4 cells) was kept as a category"),
    "none among answers": category(*ANSWERS, become=ANSWERS, note="'none' (4 cells) was kept"),
    "none beside empty cells": category("none", "a lot", "", "a lot", "some", "some", "some", become=[
        "none", "a lot", None, "a lot", "some", "some", "some"], note="'none' (1 cell) was kept"),
    "None told to be missing": category(*BAGS, become=[None if bag == "None" else bag for bag in BAGS],
                                        missing=["None"]),
    "None that is missing in numbers": File(
        "x,y\nNone,red\n2,None\n3,red\n4,blue\n5,blue\n", {
            "x": [None, 2, 3, 4, 5], "y": ["red", None, "red", "blue", "blue"]}),
    "NA among countries": category(*(["DE", "US", "NA", "FR"] * 3), "", become=[*(["DE", "US", "NA", "FR"] * 3), None],
                                   note="'NA' (3 cells) was kept"),
    "NA among other words": category("red", "NA", "blue", "red", "blue", "", become=[
        "red", None, "blue", "red", "blue", None]),
    "sodium": category("Na", "K", "Na", "K", become=["Na", "K", "Na", "K"]),
    "plus and minus": category("+", "-", "", "+", "-", become=["+", "-", None, "+", "-"], note="'-' (2 cells) was kept"),
    "minus for missing": category("red", "-", "red", "blue", "blue", become=["red", None, "red", "blue", "blue"]),
    "a number told to be missing": number("1", "-99", "3", "4", become=[1, None, 3, 4], missing=[-99]),
    "a number told, written otherwise": number("1", "-99.0", "3", "4", become=[1, None, 3, 4], missing=["-99"]),
    "a word told": number("1", "tbd", "3", "4", become=[1, None, 3, 4], missing=["tbd"]),
    "999 is suspicious and kept": number("18", "999", "30", "45", "60", "52", become=[18, 999, 30, 45, 60, 52],
                                         note="999 (1 cell) is far outside the other values (18 to 60) and was kept"),
    "-1 is suspicious and kept": number("18", "-1", "30", "45", "60", "-1", "50", become=[18, -1, 30, 45, 60, -1, 50],
                                        note="-1 (2 cells) is far outside"),
    "-99 and 999": number("1", "-99", "3", "5", "999", "4", become=[1, -99, 3, 5, 999, 4], note="--missing 'y=-99'"),
    "-1 among negatives": number("-3", "-1", "2", "4", become=[-3, -1, 2, 4]),
    "-1 of two": category("-1", "1", "1", "-1", become=[-1, 1, 1, -1], kind="flag"),
    "-1 of three": number("-1", "0", "1", "0", become=[-1, 0, 1, 0]),
    "999 in its range": number("900", "999", "950", "1010", become=[900, 999, 950, 1010]),
}  # fmt: skip

TEXTS = [f"said {k % 30}" for k in range(36)]
KINDS = {
    "categories": category(*["red", "blue"] * 3, become=["red", "blue"] * 3),
    "yes and no": category("yes", "No", "", "YES", become=[True, False, None, True]),
    "true and false": category("TRUE", "false", "NA", "true", become=[True, False, None, True]),
    "y and n": category("y", "n", "n", "y", become=[True, False, False, True]),
    "dates, year first": dates("2020-01-01", "2020-01-02", "2020-01-02", "2021-05-06", days_since_2020_01_01=[0, 1, 1, 491]),
    "dates, day first": dates("31.12.2020", "1.2.2021", "1.2.2021", "4.5.2022", days_since_2020_12_31=[0, 32, 32, 489]),
    "dates with slashes": dates("12/31/20", "1/2/21", "1/2/21", "4/5/22", days_since_2020_12_31=[0, 2, 2, 460]),
    "dates with slashes, day first": dates("31/12/20", "1/2/21", "1/2/21", "4/5/22", days_since_2020_12_31=[0, 32, 32, 489]),
    "dates that may start with day or month": dates("3/4/21", "1/2/21", "1/2/21", "4/5/22", days_since_2021_01_02=[61, 0, 0, 458],
        note="'3/4/21' was read with the month first; write dates as 2024-01-31"),
    "dates with months": dates("3 Jan 2020", "4 Feb 2020", "4 Feb 2020", "December 5, 2020", days_since_2020_01_03=[0, 32, 32, 337]),
    "dates and times": dates("2020-01-01T06:00:00Z", "2020-01-02 18:00", "2020-01-02", "2020-05-06",
                             days_since_2020_01_01=[0.25, 1.75, 1, 126], hour=[6, 18, 0, 0]),
    "times within a few days": dates("2020-01-01 10:00", "2020-01-01 22:30", "2020-01-01 23:00", "2020-01-02 01:00",
                                     hours_since_2020_01_01=[10, 22.5, 23, 25]),
    "dates of many years": dates("2010-01-31", "2015-06-30", "", "2020-06-01", days_since_2010_01_31=[0, 1976, None, 3774],
                                 month=["Jan", "Jun", None, "Jun"]),
    "times": dates("10:30", "11:45:36", "11:30 pm", "10:30", hour=[10.5, 11.76, 23.5, 10.5]),
    "dates as numbers": dates("20240131", "20240201", "20240201", "20231224", days_since_2023_12_24=[38, 39, 39, 0]),
    "times since 1970": dates("1699999200", "1700002800", "1700002800", "1701000000", name="created_at",
        days_since_2023_11_14=[22 / 24, 23 / 24, 23 / 24, 12.5], hour=[22, 23, 23, 12]),
    "weeks": dates("2020-W02", "2020-W10", "2020-W10", "2020-W31", days_since_2020_01_06=[0, 56, 56, 203]),
    "quarters": dates("2020Q1", "2020 Q2", "2020-Q2", "2021Q1", days_since_2020_01_01=[0, 91, 91, 366]),
    "a cell that is no date": dates(*["2020-03-01", "2020-05-01"] * 10, "soon", days_since_2020_03_01=[*[0, 61] * 10, None],
                                    note="treated as missing, as they are not dates: 'soon' (1)"),
    "dates in order, one for each row": column(*[f"2020-01-{k:02}" for k in range(1, 29)], kind="date"),
    "one date": column(*["2020-01-01"] * 5, kind="constant"),
    "numbers that are no dates": number("20241331", "20240201", "20240201", "20231224",
                                        become=[20241331, 20240201, 20240201, 20231224]),
    "identifiers": column("a1", "b2", "c3", "d4", kind="identifier"),
    "a flag called patient": category(*"01101001", name="patient", become=[bool(int(c)) for c in "01101001"]),
    "months as integers": dates(*[str(202300 + k) for k in (1, 2, 12, 7, 8, 5, 1)],
                                days_since_2023_01_01=[0, 31, 334, 181, 212, 120, 0]),
    "integers that are no months": number(*[str(202300 + k) for k in (1, 2, 13, 7, 8, 5)],
                                          become=[202300.0 + k for k in (1, 2, 13, 7, 8, 5)]),
    "dates of Excel": dates("45001", "45017", "45110", "45001", name="Order date", days_since_2023_03_16=[0, 16, 109, 0]),
    "milliseconds": dates("1699999200000", "1700002800000", "1699999200000", "1700006400000", name="created_at",
                          hours_since_2023_11_14=[22, 23, 22, 24]),
    "codes with letters after a minus": category("12-B", "12-B", "7-A", "7-A", become=["12-B", "12-B", "7-A", "7-A"]),
    "long numbers that never repeat": column("4006381333931", "4006381333948", "4002293401102", "4008789080851",
                                             kind="identifier"),
    "a short count is a number": number("1", "2", "3", "4", become=[1, 2, 3, 4]),
    "postcodes with letters": column("SW1A 1AA", "EC1A 1BB", "SW1A 1AA", "W1A 0AX", kind="text", name="Postcode"),
    "postcodes without a name": column("01067", "80331", "01099", "20095", "01069", kind="identifier"),
    "few codes with zeros": category("01", "02", "01", "02", become=["01", "02", "01", "02"]),
    "telephone numbers": column("+49 30 1234567", "+49 89 7654321", "+49 30 1234567", "+44 20 1234567", kind="text"),
    "telephone numbers by name": column("5551234567", "5559876543", "5551234567", "5550000000", kind="identifier",
                                        name="Phone"),
    "free text": column(*TEXTS, kind="text"),
    "constant text": column(*["here"] * 4, kind="constant"),
    "a constant number": column("5", "5", "", "5", kind="constant"),
    "nothing": column("", "NA", "?", "-", kind="empty"),
    "a class": column(*"AABB", kind="label", name="species"),
    "a bound among words": column("<0.1", "3", "4", "low", "high", "mid", "no", "so", kind="identifier"),
    "many words among numbers": column("low", "3", "4", "5", "6", kind="text"),
    "two units": column("12 kg", "13 g", "14 kg", "9 g", kind="text"),
    "percent beside shares": column("12%", "0.13", "14%", "0.09", kind="text"),
    "house numbers": column("12", "14a", "16", "18b", kind="text"),
    "ordinals are categories": category(*["3rd", "1st", "3rd", "2nd", "3rd", "3rd"] * 2,
                                        become=["3rd", "1st", "3rd", "2nd", "3rd", "3rd"] * 2),
    "telephone numbers with blanks": column("030 123 456", "030 123 457", "089 123 456", "030 123 458", kind="identifier"),
    "versions": column("1.2.3", "1.2.4", "1.3.0", "2.0.1", kind="identifier"),
    "dates that name the rows": File("day,x\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3.5\n", {"x": [1, 2, 3.5]},
                                     {"day": "date"}),
    "row names": File("who,x\nAnn,1\nBob,2\nCid,3.5\n", {"x": [1, 2, 3.5]}, {"who": "identifier"}),
}  # fmt: skip

LEVELS = ["low", "mid", "high", "mid"]
TOLD = {
    "ordered": File(beside(*LEVELS), XY | {"y": LEVELS}, kinds={"y": "ordered"},
                    options={"kinds": {"y": ["low", "mid", "high"]}}),
    "ordered with a level that looks missing": File(beside("none", "mild", "", "none"),
        XY | {"y": ["none", "mild", None, "none"]}, kinds={"y": "ordered"}, options={"kinds": {"y": ["none", "mild", "severe"]}}),
    "ordered numbers": File(beside("3", "1", "2", "1"), XY | {"y": ["3", "1", "2", "1"]}, kinds={"y": "ordered"},
                            options={"kinds": {"y": "ordered"}}),
    "a category": File(beside("3", "1", "2", "1"), XY | {"y": ["3", "1", "2", "1"]},
                       options={"kinds": {"y": "category"}}),
    "a number": File(beside("10115", "80331", "10115", "20095", name="zip"), XY | {"zip": [10115, 80331, 10115, 20095]},
                     options={"kinds": {"zip": "number"}}),
    "a number with zeros before it": File(beside("007", "080", "010", "200"), XY | {"y": [7, 80, 10, 200]},
                                          options={"kinds": {"y": "number"}}),
    "a number with a word": File(beside("some", *["3", "4", "5", "6"] * 10),
        {"x": numbers_beside(41), "y": [None, *[3.0, 4, 5, 6] * 10]}, options={"kinds": {"y": "number"}},
        note="1 cell is not a number and was treated as missing: 'some' (1); the first is in row 1"),
    "a flag": File(beside("1", "0", "", "1"), XY | {"y": [True, False, None, True]},
                   options={"kinds": {"y": "flag"}}),
    "a class of another name": File(beside("p", "q", "p", "q"), XY, {"y": "label"}, options={"kinds": {"y": "label"}}),
    "a class that is a category": File(beside("p", "q", "p", "q", name="species"), XY | {"species": ["p", "q", "p", "q"]},
                                       kinds={"species": "category"}, options={"kinds": {"species": "category"}}),
    "an identifier": File(beside("5", "6", "5", "9"), XY, {"y": "identifier"}, options={"kinds": {"y": "identifier"}}),
    "left out": File(beside("5", "6", "5", "9"), XY, {"y": "number"}, options={"ignore": ["y"]}),
    "left out, infinite": File(beside("5", "inf", "5", "9"), XY, {"y": "number"}, options={"ignore": ["y"]}),
}  # fmt: skip

FILES: dict[str, File] = {
    f"{group}: {name}": file
    for group, files in [
        ("separator", SEPARATORS), ("encoding", ENCODINGS), ("number", NUMBERS), ("decimal", DECIMALS),
        ("marker", MARKERS), ("kind", KINDS), ("told", TOLD),
    ]
    for name, file in files.items()
}  # fmt: skip

#: Files that must be refused: content, options, and the words of the message.
REFUSED: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "two readings": ("a;b\n1.234;1\n2.345;2\n", {}, ("'1.234' in column 'a', row 1", "1.234 or 1234", "--decimal")),
    "two readings, commas": ("a\tb\n1,200\t1\n900\t2\n", {}, ("'1,200' in column 'a', row 1", "decimal='.'")),
    "two conventions": ("a;b\n1.5;1\n2,25;2\n", {}, ("two ways", "'1.5' in column 'a', row 1", "'2,25' in column 'a', row 2")),
    "no such decimal": ("a;b\n1;2\n3;4\n", {"decimal": "x"}, ("decimal (--decimal) must be '.' or ',', got 'x'",)),
    "no such separator": ("a;b\n1;2\n3;4\n", {"sep": ";;"}, ("sep (--sep) ';;': expected one character",)),
    "a sheet of a text file": ("a;b\n1;2\n3;4\n", {"sheet": "x"}, ("sheet (--sheet) 'x'", "is a text file")),
    "told a number": ("a,b\n1,x\n2,y\n3,4\n", {"kinds": {"b": "number"}}, ("column 'b', row 1: 'x' is not a number (and 1 more cell)", "--missing")),
    "told levels": ("a,b\n1,low\n2,hgih\n3,high\n", {"kinds": {"b": ["low", "high"]}}, ("column 'b', row 2: 'hgih'", "low < high")),
    "told one level": ("a,b\n1,low\n2,low\n", {"kinds": {"b": ["low"]}}, ("column 'b'", "two or more different levels")),
    "told no order": ("a,b\n1,low\n2,high\n", {"kinds": {"b": "ordered"}}, ("column 'b' is ordered, but the order", "--ordered 'b:low<mid<high'")),
    "told no kind": ("a,b\n1,low\n2,high\n", {"kinds": {"b": "colour"}}, ("'colour' is not a kind of column", "number, category")),
    "told a flag of three": ("a,b\n1,p\n2,q\n3,r\n", {"kinds": {"b": "flag"}}, ("column 'b': a flag has two values, but this column has 3",)),
    "told of no such column": ("a,b\n1,2\n3,4\n", {"kinds": {"bb": "number"}}, ("the table has no column 'bb' (did you mean 'b'?)",)),
    "ignore no such column": ("a,b\n1,2\n3,4\n", {"ignore": ["c"]}, ("ignore or --drop: the table has no column 'c'", "it has a, b")),
    "infinite": ("a,b\n1,2\n3,-inf\n4,inf\n", {}, ("column 'b', row 2 (and 1 more): -inf is infinite; leave unknown values empty",)),
    "too large": ("a,b\n1,2\n3,1e200\n4,5\n", {}, ("column 'b', row 2: 1e+200 is too large",)),
    "a long row": ("a,b\n1,2\n3,4,5\n", {}, ("line 3: 3 fields, but the header has 2", "--sep")),
    "no rows": ("a,b\n", {}, ("but no rows",)),
    "nothing below the lines to skip": ("a,b\n1,2\n", {"skip_rows": 5}, ("no lines but those left out (--skip-rows",)),
    "an unclosed quote": ('a,b\n1,"2\n3,4\n', {}, ("line 2: a quote is opened but not closed",)),
}  # fmt: skip
