"""A page in Chromium (driven by Playwright) or in Firefox (driven by its Marionette protocol), with the same methods.

Playwright cannot drive the Firefox of a Linux distribution. Marionette is what geckodriver speaks to it: JSON with its
length before it, over a socket.
"""

import base64
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

PATIENCE = 60  # seconds: a busy machine is no failure
AGAIN = 15  # seconds after which a click that started no download is repeated: on a busy machine some go astray
CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FIREFOXES = ("firefox-esr", "firefox")
FLAGS = ["--no-sandbox"]
DOWN, UP = {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}
READY = "document.documentElement.dataset.ready === 'all'"
KEYS = {
    "Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
    "ArrowDown": "\ue015", "Tab": "\ue004",
}  # fmt: skip


def find_browser(variable, known):
    return os.environ.get(variable) or next(filter(None, map(shutil.which, known)), None)


class Tab:
    """What the tests do with a page, whatever the browser."""

    def wait(self, expression):
        """Wait until an expression is true. (The page forbids eval, which Playwright's own waiting needs.)"""
        end = time.monotonic() + PATIENCE
        while not (value := self.js(expression)):
            assert time.monotonic() < end, f"{expression} did not become true"
            time.sleep(0.02)
        return value

    def settle(self):
        """Wait until the page has drawn what it was told to draw."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def middle(self, selector):
        """Coordinates of the middle of an element, scrolled into view."""
        return self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({ block: 'center', behavior: 'instant' }); const b = e.getBoundingClientRect(); "
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )

    def click(self, selector):
        self.drag([self.middle(selector)])

    def cut_texts(self):
        """Texts of pictures that are not inside the picture."""
        return self.js(
            """[...document.querySelectorAll('.picture svg text')].filter((t) => {
                const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();
                return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
            }).map((t) => [t.textContent, t.closest('.picture').id])"""
        )

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.js(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")

    def fill(self, selector, text):
        """Set the value of a field as a reader does, and tell the page."""
        self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); "
            f"e.value = {json.dumps(text)}; for (const kind of ['input', 'change']) "
            "e.dispatchEvent(new Event(kind, { bubbles: true })); return true; })()"
        )

    def places(self, labels):
        """Where rows are on the screen: their markers in the map as SVG, which has them by cluster, below a legend."""
        _, content = self.saved("#map-picture + .tools button:nth-child(1)")
        root = ElementTree.fromstring(content)
        clip = next(group for group in root.iter() if group.get("clip-path"))
        moved = [e.get("transform") for e in clip.iter() if e.get("transform", "").startswith("translate")]
        found = np.array([re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", move).groups() for move in moved], dtype=float)
        self.middle("#map-picture")
        box = "document.getElementById('map-picture').getBoundingClientRect()"
        left, top, height = self.js(f"[{box}.left, {box}.top, {box}.height]")
        return found[np.argsort(np.argsort(labels, kind="stable"))] + [left, top - float(root.get("height")) + height]


class ChromiumTab(Tab):
    def __init__(self, browser, path, width, **options):
        options = {"reduced_motion": "reduce", "accept_downloads": True, **options}
        self.context = browser.new_context(
            viewport={"width": width, "height": 2160 if width > 2000 else 900}, **options
        )
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.context.set_default_timeout(1000 * PATIENCE)
        self.context.set_offline(True)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.wait(READY)

    def js(self, expression):
        return self.page.evaluate(expression)

    def drag(self, points):
        self.push(points[0])
        for point in points[1:]:
            self.page.mouse.move(*point)
        self.release()

    def push(self, point):
        self.page.mouse.move(*point)
        self.page.mouse.down()

    def release(self):
        self.page.mouse.up()

    def press(self, key):
        self.page.keyboard.press(key)

    def saved(self, selector):
        """Click, and return the name and the content of the file that is saved."""
        self.middle(selector)
        with self.page.expect_download() as download:
            self.page.locator(selector).click()
        return download.value.suggested_filename, download.value.path().read_bytes()

    def printed(self):
        return self.page.pdf(prefer_css_page_size=True)

    def close(self):
        self.context.close()


class Firefox:
    """A headless Firefox with a profile of its own."""

    def __init__(self, command):
        self.folder = Path(tempfile.mkdtemp())
        self.downloads = self.folder / "downloads"
        settings = {
            "marionette.port": 0, "ui.prefersReducedMotion": 1, "browser.download.folderList": 2,
            "browser.download.dir": str(self.downloads), "browser.download.useDownloadDir": True,
            "browser.download.alwaysOpenPanel": False, "browser.helperApps.neverAsk.saveToDisk": "text/csv",
            "dom.events.testing.asyncClipboard": True,  # the tests may read what was copied
            "datareporting.policy.dataSubmissionEnabled": False, "app.update.enabled": False,
            "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0, "network.proxy.type": 1,
            "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9, "network.proxy.ssl": "127.0.0.1",
            "network.proxy.ssl_port": 9,
        }  # fmt: skip
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
        (self.folder / "user.js").write_text("\n".join(lines))
        self.downloads.mkdir()
        arguments = ["--headless", "--marionette", "--remote-allow-system-access", "--profile", str(self.folder)]
        size = {"MOZ_HEADLESS_WIDTH": "3900", "MOZ_HEADLESS_HEIGHT": "2200"}
        self.process = subprocess.Popen(
            [command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | size
        )
        self.socket, self.numbers = self._connect(), itertools.count(1)
        self._read()  # the greeting
        self.send("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"pageLoadStrategy": "normal"}}})
        self.send("WebDriver:SetWindowRect", {"x": 0, "y": 0, "width": 3900, "height": 2200})

    def _connect(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            file = self.folder / "MarionetteActivePort"
            if file.exists() and (port := file.read_text().strip()):
                return socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE)
            assert self.process.poll() is None, "Firefox did not start"
            time.sleep(0.05)
        raise AssertionError("Firefox did not answer")

    def _read(self):
        head = b""
        while not head.endswith(b":"):
            head += self.socket.recv(1)
        left, parts = int(head[:-1]), []
        while left:
            parts.append(self.socket.recv(left))
            left -= len(parts[-1])
        return json.loads(b"".join(parts))

    def send(self, command, values):
        message = json.dumps([0, next(self.numbers), command, values]).encode()
        self.socket.sendall(str(len(message)).encode() + b":" + message)
        error, result = self._read()[2:]
        assert error is None, f"{command}: {error}"
        return result

    def script(self, body, context="content"):
        self.send("Marionette:SetContext", {"value": context})
        found = self.send("WebDriver:ExecuteScript", {"script": body, "args": [], "sandbox": None})
        self.send("Marionette:SetContext", {"value": "content"})
        return found["value"]

    def close(self):
        self.send("Marionette:Quit", {"flags": ["eForceQuit"]})
        self.socket.close()
        self.process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)


class FirefoxTab(Tab):
    def __init__(self, firefox, path, width):
        self.firefox = firefox
        firefox.script("Services.console.reset(); return true;", "chrome")
        # Windows have a minimum width: the page is made narrower inside its window.
        firefox.script(
            "const b = gBrowser.selectedBrowser; b.style.flex = 'none'; "
            f"b.style.width = b.style.maxWidth = '{width}px'; return true;",
            "chrome",
        )
        # The content learns of its width later, on a busy machine much later: a page drawn before is drawn again.
        self.wait(f"innerWidth === {width}")
        firefox.send("WebDriver:Navigate", {"url": path.as_uri()})
        self.wait(f"innerWidth === {width} && {READY}")
        self.settle()

    @property
    def complaints(self):
        """Errors and warnings of the page; those of the browser itself have another source."""
        return self.firefox.script(
            "return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError && "
            "m.sourceName.startsWith('file:')).map((m) => m.errorMessage);",
            "chrome",
        )

    def js(self, expression):
        return self.firefox.script(f"return {expression};")

    def drag(self, points):
        self._mouse([self._move(points[0]), DOWN, *map(self._move, points[1:]), UP])

    def push(self, point):
        self._mouse([self._move(point), DOWN])

    def release(self):
        self._mouse([UP])

    @staticmethod
    def _move(point):
        return {"type": "pointerMove", "x": int(point[0]), "y": int(point[1]), "duration": 0}

    def _mouse(self, actions):
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self.firefox.send("WebDriver:PerformActions", {"actions": [mouse]})

    def press(self, key):
        value = KEYS.get(key, key)
        strokes = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
        self.firefox.send("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keys", "actions": strokes}]})

    def saved(self, selector):
        before = set(self.firefox.downloads.iterdir())
        for _ in range(PATIENCE // AGAIN):
            self.click(selector)
            end = time.monotonic() + AGAIN
            while time.monotonic() < end:
                new = [file for file in self.firefox.downloads.iterdir() if file not in before]
                if len(new) == 1 and new[0].suffix != ".part" and new[0].stat().st_size:
                    content = new[0].read_bytes()
                    new[0].unlink()
                    return new[0].name, content
                time.sleep(0.02)
        raise AssertionError(f"nothing was saved by {selector}")

    def printed(self):
        return base64.b64decode(self.firefox.send("WebDriver:Print", {})["value"])

    def close(self):
        pass  # the next page is opened in the same window
