#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium that is told what to do through a pipe (its DevTools protocol): pages, keys,
clicks, media, and what was said on consoles. No package beyond Python is needed."""
import json
import os
import select
import subprocess
import time

SECONDS = 60  # for an answer, before it counts as none


class Browser:
    def __init__(self, program, folder, arguments=()):
        self.last, self.rest, self.events = 0, b"", []
        down, self.out = os.pipe()
        self.inward, up = os.pipe()
        command = [program, "--headless=new", "--remote-debugging-pipe", "--disable-gpu",
                   "--no-first-run", "--hide-scrollbars", "--force-device-scale-factor=1",
                   f"--user-data-dir={folder}", *arguments, "about:blank"]
        shell = f'exec "$@" 3<&{down} 4>&{up}'  # the browser reads from 3 and writes to 4
        self.process = subprocess.Popen(["bash", "-c", shell, "browser", *command],
                                        pass_fds=(down, up), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        target = [t for t in self.send("Target.getTargets", session=None)["targetInfos"]
                  if t["type"] == "page"][0]["targetId"]
        self.session = self.send("Target.attachToTarget", session=None, targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.send(domain + ".enable")
        self.size(1300, 900)

    session = None

    def receive(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self.rest:
            ready = select.select([self.inward], [], [], max(0, end - time.monotonic()))[0]
            more = os.read(self.inward, 1 << 20) if ready else b""
            if not more:
                raise RuntimeError("the browser does not answer")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session="", **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session == "":
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, event):
        while not any(e["method"] == event for e in self.events):
            self.events.append(self.receive())

    def said(self):
        """What consoles were told since the last page was opened: warnings and errors."""
        lines = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Log.entryAdded":
                lines.append(parameters["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                lines.append(str(parameters["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                lines.append(str(parameters["exceptionDetails"]))
        return lines

    def open(self, path):
        self.events = []
        self.send("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("Page.loadEventFired")

    def loaded(self):
        """A page that a click or key leads to."""
        self.wait("Page.loadEventFired")

    def js(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def key(self, name, code, text=""):
        one = {"key": name, "code": name, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text,
                  **one)
        self.send("Input.dispatchKeyEvent", type="keyUp", **one)

    def tab(self):
        self.key("Tab", 9)

    def enter(self):
        self.key("Enter", 13, "\r")

    def space(self):
        self.key(" ", 32, " ")

    def type(self, text):
        self.send("Input.insertText", text=text)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def media(self, media="", scheme="light"):
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme},
                            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def size(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def scripts(self, allowed):
        self.send("Emulation.setScriptExecutionDisabled", value=not allowed)

    def pdf(self):
        return self.send("Page.printToPDF")["data"]

    def close(self):
        try:
            self.send("Browser.close", session=None)
        except RuntimeError:
            self.process.kill()
        self.process.wait()
