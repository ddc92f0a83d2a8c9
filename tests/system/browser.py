# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium, by chromedriver's HTTP (W3C WebDriver), for the tests of the page of `uipoib web`."""
import base64
import json
import os
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
import zlib

PATIENCE = 90
failed = False


def check(name, ok, why=""):
    global failed
    print(f"{'ok' if ok else 'not ok'} - {name}", flush=True)
    if not ok:
        failed = True
        print(f"#   {why}", flush=True)


def eventually(f, patience=PATIENCE):
    end = time.monotonic() + patience
    while not (v := f()) and time.monotonic() < end:
        time.sleep(0.1)
    return v


# --- the browser

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, url, *options, **env):
        """options: further options of Chromium. env: variables of its environment, such as FONTCONFIG_FILE"""
        self.url = url
        self.dir = tempfile.TemporaryDirectory(prefix="web-page-")
        self.base = f"http://127.0.0.1:{(port := free_port())}"
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}", "--silent"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env={**os.environ, "HOME": self.dir.name, "TMPDIR": self.dir.name, **env})
        eventually(lambda: self.up())
        # Chromium's own sandbox makes namespaces, which root in a namespace may not do. The page is uipoib's own, so no sandbox is needed.
        args = [*options, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,850",
                "--force-device-scale-factor=1", "--disable-extensions", "--disable-background-networking", "--no-first-run",
                f"--user-data-dir={self.dir.name}/profile"]
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": args}}}})["sessionId"]
        self.call("POST", "/timeouts", {"script": PATIENCE * 1000, "pageLoad": PATIENCE * 1000})

    def up(self):
        try:
            return urllib.request.urlopen(f"{self.base}/status", timeout=5).status == 200
        except OSError:
            return False

    def call(self, method, path, body=None):
        if path != "/session":
            path = f"/session/{self.session}{path}"
        r = urllib.request.Request(self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                   headers={"Content-Type": "application/json"})
        try:
            return json.load(urllib.request.urlopen(r, timeout=PATIENCE))["value"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{path}: {e.read().decode()[:500]}") from None

    def js(self, code, *args):
        return self.call("POST", "/execute/sync", {"script": code, "args": list(args)})

    def cdp(self, cmd, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": cmd, "params": params})

    def open(self):
        self.call("POST", "/url", {"url": self.url})
        assert eventually(lambda: self.js("return performance.getEntriesByName('first-picture').length > 0"), 300), "there is no picture"

    def keys(self, *names):
        codes = {"Tab": "\ue004", "Enter": "\ue007", "Up": "\ue013", "Down": "\ue015", "Left": "\ue012", "Right": "\ue014", "Escape": "\ue00c"}
        acts = [{"type": t, "value": codes.get(n, n)} for n in names for t in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": acts}]})

    def click(self, x, y):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "x": round(x), "y": round(y)}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]}]})

    def scheme(self, name):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
        time.sleep(0.2)

    def width(self, w, h):
        self.cdp("Emulation.setDeviceMetricsOverride", width=w, height=h, deviceScaleFactor=1, mobile=w < 500)
        time.sleep(0.3)

    def settle(self):
        """Wait until the browser has drawn what scripts have changed"""
        self.call("POST", "/execute/async", {"script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));", "args": []})

    def png(self, x, y, w, h, scale=1):
        return base64.b64decode(self.cdp("Page.captureScreenshot", format="png", clip={"x": x, "y": y, "width": w, "height": h, "scale": scale})["data"])

    def pixels(self, x, y, w, h):
        return decode_png(self.png(x, y, w, h))

    def picture(self, name):
        if folder := os.environ.get("PICTURES"):
            with open(f"{folder}/{name}.png", "wb") as f:
                f.write(base64.b64decode(self.cdp("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.dir.cleanup()


def decode_png(data):
    """Returns the rows of (r, g, b) of a PNG with 8 bits and no interlace."""
    at, idat = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            w, h, depth, colour = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8 and colour in (2, 6)
        elif kind == b"IDAT":
            idat += chunk
        at += 12 + size
    raw, n = zlib.decompress(idat), 3 if colour == 2 else 4
    rows, before = [], bytearray(w * n)
    for y in range(h):
        line = bytearray(raw[y * (w * n + 1) + 1:(y + 1) * (w * n + 1)])
        method = raw[y * (w * n + 1)]
        for k in range(w * n):
            a, b, c = line[k - n] if k >= n else 0, before[k], before[k - n] if k >= n else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[k] = (line[k] + (0, a, b, (a + b) // 2, paeth)[method]) & 255
        rows.append([tuple(line[k:k + 3]) for k in range(0, w * n, n)])
        before = line
    return rows


def status():
    """The exit status of the test"""
    return int(failed)
