"""The report: what a model found, as one HTML file that needs nothing but a browser."""

from fusewise.views.report.report import write_page, write_report

__all__ = ["write_page", "write_report"]
