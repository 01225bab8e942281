"""From the question to "Fixed" by AT-SPI alone, as a screen reader sees it; run by Debian's own Python with python3-pyatspi.

Knows names, roles, states, actions and announcements, and nothing else of the window. Prints what it met as JSON.
"""

import json
import sys
import threading
import time

import pyatspi
from gi.repository import GLib

PATIENCE = 60
GONE = (GLib.GError, AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError)
"""What pyatspi raises for an object that went away meanwhile."""
heard = []


def application():
    """Return the wizard among the running applications."""
    for app in pyatspi.Registry.getDesktop(0):
        if app is not None and app.name == "convalesce":
            return app
    return None


def under(item):
    """Yield everything below an object that is on the screen."""
    for child in item or ():
        if child is not None:
            yield child
            yield from under(child)


def showing():
    """Return (role, name, object) of everything that is on the screen."""
    found = []
    for item in under(application()):
        try:
            if item.getState().contains(pyatspi.STATE_SHOWING):
                found.append((item.getRoleName(), item.name, item))
        except GONE:
            continue
    return found


def wait(until, what):
    """Wait for something that can be seen."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if found := until():
                return found
        except GONE:
            pass
        time.sleep(0.1)
    raise SystemExit(f"waited in vain for {what}; there is {[(r, n) for r, n, _i in showing()]}")


def press(name):
    """Press the button of this name."""
    item = wait(lambda: next((i for r, n, i in showing() if n == name and "button" in r), None), name)
    action = item.queryAction()
    press_ = [i for i in range(action.nActions) if action.getName(i) in ("Press", "press", "click", "Toggle")]
    action.doAction(press_[0] if press_ else 0)


def read(text):
    """Wait until this is read somewhere."""
    wait(lambda: any(text in n for _r, n, _i in showing()), text)


def main():
    """Walk, and print what was met."""
    pyatspi.Registry.registerEventListener(lambda e: heard.append(str(e.any_data)), "object:announcement")
    threading.Thread(target=pyatspi.Registry.start, daemon=True).start()
    wait(application, "the wizard")
    read("What does not work?")
    press("Look")
    read("The cause")
    unnamed = [r for r, n, _i in showing() if r in ("button", "push button", "radio button", "list", "text") and not n]
    press("Add folder to PATH...")
    read("What will change")
    press("Add folder to PATH")
    read("Fixed")
    roles = sorted({r for r, _n, _i in showing()})
    print(json.dumps({"heard": heard, "unnamed": unnamed, "roles": roles}), flush=True)
    press("Finish")
    sys.exit(0)


main()
