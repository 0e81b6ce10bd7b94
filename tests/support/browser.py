"""A real headless Chromium, driven over its debugging pipe: open a page, ask it questions, take pictures."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 300.0


def find_browser():
    """The path of a Chromium on this machine, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One Chromium with one page; `with Browser() as b: b.open(path); b.ask("1 + 1")`."""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="chromium-")
        self._from_us, self._to_us = os.pipe(), os.pipe()
        read, write = self._from_us[0], self._to_us[1]
        # Scenes alone are drawn by its software for graphics cards: pages drawn that way take three times as long.
        # Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
        command = [
            find_browser(), "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
            "--use-angle=swiftshader-webgl", "--enable-unsafe-swiftshader", "--hide-scrollbars",
            f"--user-data-dir={self.home}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        shell = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, str(read), str(write), *command],
            pass_fds=(read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.home},
        )  # fmt: skip
        os.close(read)
        os.close(write)
        self._count, self._rest, self.messages, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.window(1200, 800)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._from_us[1])
        os.close(self._to_us[0])
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, **parameters):
        """One command of the debugging protocol and its answer."""
        self._count += 1
        told = {"id": self._count, "method": method, "params": parameters}
        if self.session is not None:
            told["sessionId"] = self.session
        os.write(self._from_us[1], json.dumps(told).encode() + b"\0")
        while True:
            message = self._next(PATIENCE)
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.messages.append(message)

    def _next(self, patience):
        end = time.monotonic() + patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._to_us[0]], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._to_us[0], 1 << 20)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    # -- what tests do -----------------------------------------------------------------------------------------

    def open(self, place):
        """Open a file or an address and wait until the page is loaded."""
        address = Path(place).resolve().as_uri() if ":" not in str(place) else str(place)
        self.messages.clear()
        self.call("Page.navigate", url=address)
        end = time.monotonic() + PATIENCE
        while not any(m.get("method") == "Page.loadEventFired" for m in self.messages):
            self.messages.append(self._next(end - time.monotonic()))

    def ask(self, expression):
        """The value of a JavaScript expression, promises awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            told = answer["exceptionDetails"]
            raise RuntimeError(told.get("exception", {}).get("description") or told["text"])
        return answer["result"].get("value")

    def wait(self, condition, patience=PATIENCE):
        """Wait until a JavaScript condition holds, and return how long that took in seconds."""
        begin = time.monotonic()
        while not self.ask(f"Boolean({condition})"):
            if time.monotonic() - begin > patience:
                raise TimeoutError(f"never: {condition}")
            time.sleep(0.05)
        return time.monotonic() - begin

    def errors(self):
        """What the page complained about so far."""
        self.ask("0")
        thrown = [
            m["params"]["exceptionDetails"] for m in self.messages if m.get("method") == "Runtime.exceptionThrown"
        ]
        logged = [m["params"]["entry"] for m in self.messages if m.get("method") == "Log.entryAdded"]
        return [t.get("exception", {}).get("description", t["text"]) for t in thrown] + [
            entry["text"] for entry in logged if entry["level"] == "error"
        ]

    def window(self, width, height):
        """The size of the page."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, dark=True):
        """What the user prefers."""
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def picture(self, path):
        """A screenshot as PNG."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
