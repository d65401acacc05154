"""Columns that are not measurements: identifiers, numbered groups, names of rows and known classes.

Whole numbers name something, instead of measuring it, if the name of their column says so and their values agree, or
if the values alone can hardly be anything else:

1. The name has a word for an identifier (id, MRN, SKU, barcode, ..., or a word that ends in "id" and is no common
   word), a word for a number after one for a thing (case_no, PatientNo), or only words for things (customer, school).
2. The name ends in such a word ("receipt no"), and nearly all values differ.
3. The values count the rows, or the name says so (Unnamed: 0), or all have ten digits or more.

A thing with a number (sensor 1, item 14) is one of several measurements of like things.

Numbers that name a few groups, each of several rows, are categories; all others of that sort are not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fusewise.kernels import Floats
from fusewise.tables._cells import decimal_sign
from fusewise.tables._grid import Cells, find_column


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that name an identifier, as the last of a column's name.
IDENTIFIERS = _words(
    "id ids uid uuid guid identifier idcode idno idnr idnum idx mrn seqn sku barcode ean upc gtin isbn issn ssn imei "
    "iban vin pk hash doi fips naics zip zipcode postcode plz postleitzahl phone telephone mobile cellphone fax "
    "telefon npi gvkey permno cedula dni siren siret lsoa msoa cbsa accession entrez"
)
#: Words that end in "id" and do not mean an identifier; words in -oid (thyroid, steroid) do not, either.
COMMON_WORDS = _words(
    "acid aid amid arid avid bid braid bromid carotid chlorid covid did dioxid druid eyelid fluid fluorid grid hid "
    "hybrid humid invalid iodid kid lid lipid liquid maid mid monoxid morbid orchid overpaid oxid paid parotid peptid "
    "placid plasmid prepaid pyramid raid rapid resid rigid said skid slid solid splendid squid stupid sulfid timid "
    "torrid triglycerid turbid unpaid valid vivid void wid"
)
#: Words for the number of a thing, after the thing: case no, pupil nr, county fp (as the US census has it).
NUMBER_WORDS = _words("no nr nbr num number nummer numero key index ref fp ce")
#: Things that people number; a column of whole numbers with such a name says which one, not how many (plurals do).
THINGS = _words(
    "account animal batch branch cage case center centre class classroom client clinic clinician community company "
    "contract country county customer department dept device dist district doctor driver employee employer enumerator "
    "family farm firm flight herd hospital house household individual interviewer invoice item judge litter machine "
    "member municipality neighborhood neighbourhood nurse observation observer operator order panelist parcel "
    "participant passenger passport patient person physician plate player plot policy precinct product province psu "
    "pupil rater record region respondent rower sample sampleunit school sensor serial shipment shop site specimen "
    "state station store strata stratum student subj subject supplier surgeon teacher team technician ticket tract "
    "transaction unit user vehicle vendor village voter ward worker zone"
)
#: The number of a thing in one word: caseno, subjno, countrycode.
COMPOUND = re.compile(rf"\b({'|'.join(sorted(THINGS))}|emp|mem|per|pers)(no|nr|num|number|code)$", re.I)
#: Words of measurements, whose values may count the rows or have many digits: years, populations, amounts.
MEASURES = _words(
    "age amount area balance budget bytes capacity cost count counts distance dollars duration elevation eur euros "
    "gdp gnp height income length likes pay plays pop population price profit rank revenue salary sales score size "
    "spend spent sum total turnover usd value views volume wage weight worth year years yr"
)
#: Names of columns of numbers that name things if nearly all differ: "receipt no", but also "platelets no".
NUMBERED = re.compile(r"\b(no|nr|num)$|^index$")
#: The columns that may name the rows, beside those recognised as identifiers.
COUNTS_ROWS = re.compile(r"|unnamed: 0|rows?|rownames?|row[ _]?(number|nr|no)")
ROW_NAMES = re.compile(rf"{COUNTS_ROWS.pattern}|index|samples?|(.* )?names?")
LABELS = re.compile(r"labels?|class(es)?|target|species|clusters?|cultivar|diagnosis|truth|ground[ _-]?truth")
CODE = re.compile(r"0\d+")
DIGITS = re.compile(r"\d+")
FRACTION = re.compile(r"[-+]?\d*[.,]\d*[1-9]\d*")

#: Categories of a column: up to so many if each has two rows on average, and up to so many if each has fifty. Rarer
#: ones would cost more parameters than their rows can tell.
CATEGORIES, CATEGORIES_OF_LONG, ROWS_OF_LONG = 20, 300, 50

#: Fewest rows whose numbers can be recognised as counted; numbers that leave out every other row count, too.
LEAST_COUNTED, MOST_SKIPPED = 20, 2.0

#: From here on whole numbers have ten digits; amounts of that size are mostly rounded, and end in two zeros.
LONG_CODE, MOST_ROUNDED = 1e9, 0.1

#: Share of the values that differ from which a column "differs in nearly every row".
NEARLY_ALL = 0.9

#: Longest name of a row, on average: longer texts are remarks.
LONGEST_NAME = 40

Role = tuple[Literal["identifier", "category"], str]


def words_of(name: str) -> str:
    """A column's name in lower case, its parts separated by single spaces: zipCode, ZIP_CODE -> zip code."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)", " ", name)
    return re.sub(r"[\s_.\-/:#]+", " ", COMPOUND.sub(r"\1 \2", parted)).strip().lower()


def are_groups(distinct: int, seen: int) -> bool:
    """Whether so many values in so many rows can be the levels of a category."""
    few = distinct <= min(CATEGORIES, seen // 2)
    return few or distinct <= min(CATEGORIES_OF_LONG, seen // ROWS_OF_LONG)


def names_something(name: str) -> bool:
    """Whether a column has the name of an identifier or of things that are numbered (rule 1 above)."""
    words = words_of(name).split()
    *before, last = [word for word in words if not word.isdecimal()] or [""]
    if last in IDENTIFIERS or (words[:1] == ["id"] and last not in MEASURES) or last.endswith("nummer"):
        return True
    if last.endswith("id") and not last.endswith("oid") and last not in COMMON_WORDS:
        return True
    if words[-1:] != [last]:
        return False
    if last == "code":
        return before[-1:] != ["of"]
    return all(word in THINGS for word in words) or (last in NUMBER_WORDS and bool(THINGS.intersection(before[-1:])))


def is_called_class(name: str) -> bool:
    """Whether a column has a name that is typical of known classes."""
    return LABELS.fullmatch(name.lower()) is not None


def number_role(name: str, values: Floats, n_rows: int) -> Role | None:
    """Whether whole numbers name something, and why; None if they may be measurements.

    `values` are of all rows, or of a sample of the `n_rows` in their order.
    """
    seen = values[~np.isnan(values)]
    if not (np.abs(seen) < 1e30).all() or (seen < 0).any() or (seen != np.floor(seen)).any():
        return None
    distinct, whole_table = len(np.unique(seen)), round(n_rows * len(seen) / max(len(values), 1))
    if distinct <= 2:
        return None
    groups = are_groups(distinct, whole_table)
    # A few small numbers from zero count something: the members of a family, the cases of a district.
    if names_something(name) and not (groups and seen.min() == 0):
        return _role("whole numbers", ", recognised by the name of the column", distinct, len(seen), groups=groups)
    if MEASURES.intersection(words_of(name).split()):
        return None
    if COUNTS_ROWS.fullmatch(name.lower()):
        return "identifier", "row numbers, recognised by the name of the column"
    if NUMBERED.search(words_of(name)) and not groups and distinct >= NEARLY_ALL * len(seen):
        return _role("whole numbers", ", recognised by the name of the column", distinct, len(seen), groups=False)
    steps = np.diff(seen)
    monotone = (steps > 0).all() or (steps < 0).all()
    if len(seen) >= LEAST_COUNTED and monotone and np.ptp(seen) < MOST_SKIPPED * whole_table:
        return "identifier", "row numbers: whole numbers that increase from row to row"
    if len(seen) > 1 and seen.min() >= LONG_CODE and np.mean(seen % 100 == 0) <= MOST_ROUNDED:
        return _role("whole numbers of ten or more digits", "", distinct, len(seen), groups=groups)
    return None


def _role(what: str, how: str, distinct: int, seen: int, *, groups: bool) -> Role:
    if groups:
        return "category", f"{what} that name groups{how}"
    rows = "every row" if distinct == seen else "nearly every row"
    says = f"differ in {rows}" if distinct >= NEARLY_ALL * seen else f"name {distinct:,} groups or things"
    return "identifier", f"{what} that {says}{how}"


def are_codes(seen: Sequence[Any]) -> bool:
    """Whether a column contains only digits, some with leading zeros, as codes have and amounts do not."""
    only_digits = all(isinstance(cell, str) and DIGITS.fullmatch(cell) for cell in seen)
    return only_digits and any(CODE.fullmatch(text) for text in seen)


def column_or_none(cells: dict[str, Cells], asked: str, option: str) -> str | None:
    """Check that a column exists; None for the word "none", unless a column has that name."""
    return None if asked.lower() == "none" and asked not in cells else find_column(cells, asked, option)


def names_column(cells: dict[str, Cells], left: list[str], asked: str | Literal[False] | None) -> str | None:
    """The column with the row names: the requested one, or one of `left` without repeats, typical by name or text.

    Words come before numbers: a count of the rows says less than a column of names. Without a typical name, a column
    of text names the rows if it is the first, or the first after a count of the rows.
    """
    if asked is not None:
        return column_or_none(cells, asked, "--names") if asked else None
    typical = [name for name in left if _may_name_rows(name) and _all_different(cells[name])]
    words = [name for name in typical if _are_words(cells[name])]
    first = next((name for name in left if name not in typical), None)
    if not words and first is not None and _all_different(cells[first]) and _are_words(cells[first]):
        words = [first] if left.index(first) <= len(typical) else []
    return next(iter(words or typical), None)


def _may_name_rows(name: str) -> bool:
    return names_something(name) or any(ROW_NAMES.fullmatch(called) for called in (name.lower(), words_of(name)))


def _all_different(cells: Cells) -> bool:
    """Whether no cell is missing, none repeats, and none has a fraction, as measurements have."""
    told = not any(cell is None or FRACTION.fullmatch(str(cell)) for cell in cells)
    return told and len(set(map(str, cells))) == len(cells)


def _are_words(cells: Cells) -> bool:
    short = all(isinstance(cell, str) for cell in cells) and sum(map(len, cells)) <= LONGEST_NAME * len(cells)
    return short and all(decimal_sign(cell) is None for cell in cells)


def labels_column(cells: dict[str, Cells], left: list[str], asked: str | Literal[False] | None) -> str | None:
    """The column of known classes: the requested one, or the first with a typical name whose values repeat."""
    if asked is not None:
        return column_or_none(cells, asked, "--labels") if asked else None
    n_classes = ((name, len({*map(str, cells[name]), "None"}) - 1) for name in filter(is_called_class, left))
    return next((name for name, k in n_classes if 2 <= k <= len(cells[name]) / 2), None)


def row_names(cells: dict[str, Cells], column: str | None, n_rows: int) -> Cells:
    """Names of the rows from a column, or their numbers from 1 (without a column, or if the name is missing)."""
    numbers = np.arange(1, n_rows + 1).astype(object)
    of = None if column is None else cells[column]
    return numbers if of is None else np.where([cell is None for cell in of], numbers, of)
