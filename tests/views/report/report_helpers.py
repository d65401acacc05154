"""Shared by the tests of the report."""

import base64
import json
import re

import numpy as np

#: Names that would run, or be fetched, if any of them were taken for HTML.
NASTY_ROW = "<script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
NASTY_COLUMN = "</script><b>%{x}</b>&lt;\"'"


def data_of(page):
    """The JSON in a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def unpacked(entry):
    """An array of the JSON in a page."""
    return np.frombuffer(base64.b64decode(entry["bytes"]), "<" + entry["kind"]).reshape(entry["shape"])
