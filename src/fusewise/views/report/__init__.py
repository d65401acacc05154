"""The report: the result of a model as a self-contained HTML file."""

from fusewise.views.report.writing import write_page, write_report

__all__ = ["write_page", "write_report"]
