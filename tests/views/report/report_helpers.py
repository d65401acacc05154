"""Shared by the tests of the report."""

#: Names that would run, or be fetched, if any of them were taken for HTML.
NASTY_ROW = "<script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
NASTY_COLUMN = "</script><b>%{x}</b>&lt;\"'"
