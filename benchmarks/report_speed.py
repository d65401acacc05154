"""Size of the report of a 20,000 x 50 table, and its loading time in a headless Chromium.

Run ``python benchmarks/report_speed.py [--rows 20000] [--columns 50]``. "Responsive" is the time from the start of
the navigation until the map is drawn and shows the tooltip of a row; "complete" until every plot is drawn.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from fusewise import FusionClustering
from fusewise.datasets import hide_entries, make_clusters

KNOWN = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=50)
    args = parser.parse_args()
    X, _, _ = make_clusters(8, args.rows // 8, args.columns, noise=0.4, random_state=0)
    model = FusionClustering().fit(hide_entries(X, 0.3, random_state=1))
    path = Path(tempfile.mkdtemp()) / "report.html"
    began = time.perf_counter()
    model.report(path)
    seconds, size = time.perf_counter() - began, path.stat().st_size / 1e6
    print(f"written in {seconds:.1f} s, {size:.1f} MB; load {os.getloadavg()[0]:.1f}")
    open_it(path)


def open_it(path: Path) -> None:
    with sync_playwright() as driver:
        found = os.environ.get("FUSEWISE_CHROMIUM") or next(filter(None, map(shutil.which, KNOWN)), None)
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        began = time.perf_counter()
        page.goto(path.as_uri(), wait_until="commit")
        wait_until(page, "document.documentElement.dataset.ready")
        x, y = page.evaluate(
            """() => {
                const map = document.getElementById('map-picture');
                map.scrollIntoView({ block: 'center', behavior: 'instant' });
                const box = map.getBoundingClientRect();
                return [box.left + box.width / 2, box.top + box.height / 2];
            }"""
        )
        shown = False
        for step in range(200):  # somewhere near the middle there is a row
            page.mouse.move(x + 3 * step * math.cos(step), y + 2 * step * math.sin(step))
            shown = page.evaluate("!document.getElementById('tooltip').hidden")
            if shown:
                break
        assert shown, "no row was found"
        print(f"responsive after {time.perf_counter() - began:.1f} s ({busy(session):.1f} s of CPU time in its thread)")
        wait_until(page, "document.documentElement.dataset.ready === 'all'")
        print(f"complete after {time.perf_counter() - began:.1f} s ({busy(session):.1f} s of CPU time in its thread)")
        browser.close()


def wait_until(page: Page, expression: str) -> None:
    """Poll: the page forbids eval, which Playwright's own waiting needs."""
    while not page.evaluate(expression):
        time.sleep(0.01)


def busy(session: object) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]  # type: ignore[attr-defined]
    return next(m["value"] for m in metrics if m["name"] == "ThreadTime")


if __name__ == "__main__":
    main()
