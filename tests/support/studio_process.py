"""A studio in a process of its own, for tests that ask it and for those that look at its page."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from urllib.parse import urlsplit

MODEL = """
import time
import daedalus as dd
import numpy as np

model = dd.Model("pendulum")
angle = model.state("angle", start=2.0, rate=0.0, unit="rad")
length = model.parameter("length", 0.5, unit="m")
torque = model.input("torque")
model.equation(length**2 * model.der(model.der(angle)), torque - 9.81 * length * np.sin(angle))
model.output("height", -length * np.cos(angle))
bob = [length * np.sin(angle), -length * np.cos(angle)]
model.draw("rod", [0, 0], to=bob)
model.draw("sphere", bob, radius=0.05, name="bob")
inputs = {"torque": 0.0}
wind = model.parameter("wind", [0.0, 0.25], unit="m/s")
span = (0.0, 5.0)
"""


class Studio:
    """A studio in a process of its own, and requests as its page makes them."""

    def __init__(self, folder, text, *options):
        (folder / "model.py").write_text(text)
        command = [sys.executable, "-m", "daedalus.command_line", "studio", "model.py", "--no-browse", *options]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
        )
        told = self.process.stdout.readline()
        assert "http://" in told, told + self.process.stdout.read()
        self.address = re.search(r"http://\S+", told)[0]
        self.parts = urlsplit(self.address)

    def close(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def ask(self, path, method="GET", body=None, **headers):
        """(status, body) of a request; headers of the studio's own page unless given."""
        own = {"Origin": f"http://{self.parts.netloc}", "Host": self.parts.netloc}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection(self.parts.hostname, self.parts.port, timeout=300)
        where = path if path.startswith("/") else self.parts.path + path
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, where, data, {n: v for n, v in own.items() if v is not None})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if "json" in answer.headers.get("content-type", "") else text

    def ended(self, number, patience=300):
        """A job once it has ended."""
        return self.until(number, lambda job: job["state"] not in ("waiting", "running"), patience)

    def until(self, number, condition, patience=300):
        """A job once something is so."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            job = self.ask(f"jobs/{number}")[1]
            if condition(job):
                return job
            time.sleep(0.05)
        raise TimeoutError(f"never so: {job}")
