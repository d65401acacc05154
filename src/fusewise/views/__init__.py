"""Presentation of results: what a fitted model found, read once, and shown as sentences, plots and the report.

The modules, in the order in which a result goes through them: ``_columns`` (the user's table), ``_findings`` (the
result as arrays), ``_contrasts`` and ``_rules`` (what sets clusters apart), ``_certainty``,
``_sentences`` and ``_description`` (in words), ``_trees``, ``_layouts`` and ``_profile`` (what is drawn), ``_plots``
and ``_colours`` (plots), ``_payload`` and ``_report`` (the page). The documented names are those of
``fusewise.report`` and ``fusewise.plots``; the others are for the rooms above.
"""

from fusewise.views._certainty import ClusterConfidence, DoubtfulRow, HowSure, KnownLabels, compare_labels
from fusewise.views._colours import COLOURS
from fusewise.views._columns import TableOrigin
from fusewise.views._contrasts import ColumnImportance, Contrast, Contrasts, Effect
from fusewise.views._description import Description, description_text
from fusewise.views._findings import Findings, read_findings
from fusewise.views._mri_page import PAGE_FILES, WARNING, write_mri_page
from fusewise.views._plots import (
    ClusterMapDisplay,
    DendrogramDisplay,
    FusionMapDisplay,
    FusionPathDisplay,
    MissingnessDisplay,
    ProfileDisplay,
)
from fusewise.views._report import write_page, write_report
from fusewise.views._rules import ClusterRule, Condition, sql_script
from fusewise.views._sentences import (
    ClusterDescription,
    gap_sentences,
    limits,
    number_sentence,
    observed_words,
    stability_sentence,
)
from fusewise.views._trees import plateaus, point_of_result
