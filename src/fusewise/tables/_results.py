"""Results in the user's units and words: the completed table, and the centres of the clusters."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

import numpy as np

from fusewise.kernels import Floats, Real
from fusewise.observations import Entries, ValueRanges
from fusewise.tables._encoder import FrameEncoder
from fusewise.tables._grid import Cells, Dialect
from fusewise.tables._reading import Reading


def complete(table: Reading, encoder: FrameEncoder, completed: Floats) -> dict[str, Cells]:
    """The user's table with its missing values taken from the completed features of all rows.

    Cells that say something, such as <0.05, and unused columns stay as they were; values respect their bounds.
    """
    filled = dict(table.written)
    for column, (code, features) in zip(table.used, encoder.by_column(completed), strict=True):
        missing = np.flatnonzero(column.absent)
        if not len(missing) or column.name not in filled:  # a feature of dates is not in the file
            continue
        cells = table.written[column.name].copy()
        before, after = column.affix  # "$" or " kg", as written with the observed numbers
        if code.kind == "number":
            values = code.decode(features[missing])[:, 0]
            if column.limit is not None:
                values = np.minimum(values, column.limit)
            words = numbers_like(column.values, values)
        else:
            spelling = dict(zip(code.levels, code.spelling, strict=True))
            words = [spelling[level] for level in code.entries(features[missing])]
        for row, word in zip(missing, words, strict=True):
            shown = in_dialect(word, table.dialect)
            cells[row] = f"{before}{shown}{after}" if before or after else shown
        filled[column.name] = cells
    return filled


def numbers_like(observed: Real, values: Real) -> list[Any]:
    """Numbers as a column has them: within its range, on its grid if it has one, whole if it is, or else rounded."""
    ranges = ValueRanges.of(Entries(observed[:, None], ~np.isnan(observed[:, None])))
    step = ranges.step[0]
    found = ranges.confined((values if step else values.round(_decimals(observed)))[:, None])[:, 0]
    whole = step and step % 1 == 0 and ranges.low[0] % 1 == 0
    return list((found.astype(int) if whole else found).tolist())


def _decimals(values: Real) -> int:
    """Number of decimals to write: four digits of the standard deviation."""
    seen = values[~np.isnan(values)]
    away = np.abs(seen - (seen.mean() if len(seen) else 0.0))
    largest = float(away.max(initial=0.0)) or 1.0  # so that squares do not overflow
    spread = largest * math.sqrt(np.square(away / largest).sum() / max(len(seen), 1))
    return min(max(3 - math.floor(math.log10(spread)), 0), 300) if spread else 3


def center_table(
    table: Reading, encoder: FrameEncoder, sizes: list[int], centers: Floats, *observed: Floats
) -> dict[str, Cells]:
    """Cluster centres by feature, in the user's units, beside means and medians of the observed values, if known.

    For categories the share of each level, at the centre and among the observed values. `observed` are their means
    and medians, K x P in the units of the model like `centers`; NaN if there are none.
    """
    features: dict[str, list[Any]] = {}
    parts = (encoder.by_column(values) for values in (centers, *observed))
    for column, *of in zip(table.used, *parts, strict=True):
        code = of[0][0]
        digits = 4 if code.kind != "number" else _decimals(column.values)
        kinds = ("", " (observed share)") if code.has_shares else ("", " (observed mean)", " (observed median)")
        decoded = [code.decode(part) for _, part in of]
        for j, feature in enumerate(code.features):
            for kind, values in zip(kinds, decoded, strict=False):
                name = free_name(feature + kind, features)  # a column may be named like a level of another
                # Shrinkage can leave a share slightly outside [0, 1].
                shown = np.clip(values[:, j], 0, 1) if code.has_shares else values[:, j]
                features[name] = [
                    None if np.isnan(value) else in_dialect(round(float(value), digits), table.dialect)
                    for value in shown
                ]
    leading = {free_name("cluster", features): list(range(len(sizes))), free_name("size", features): sizes}
    return {name: np.array(cells, dtype=object) for name, cells in (leading | features).items()}


def in_dialect(word: Any, dialect: Dialect) -> Any:
    """Format a number with the decimal separator of the table."""
    return repr(word).replace(".", dialect.decimal) if isinstance(word, float) else word


def free_name(name: str, taken: Container[str]) -> str:
    """The name itself if it is not taken, else the name with underscores appended."""
    while name in taken:
        name += "_"
    return name
