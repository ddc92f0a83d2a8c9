# SPDX-License-Identifier: BSD-2-Clause
"""The page of `uipoib web` in a headless Chromium, by chromedriver's HTTP (W3C WebDriver).

web_page.py URL UIPOIB small|large

The program prints TAP. It compares only small regions of pictures: a few pixels at the place where a link is drawn. It prints times for
the reader, and compares their ratios to the time of known work in the same browser.
"""
import re
import subprocess
import sys
import time

from browser import Browser, check, eventually, status

url, uipoib, what = sys.argv[1:4]
# --- what is on the page

# Returns a point of a link, on the curve through both ends and the bend. Neither a node nor a label covers this point
ON_LINK = """const l = uipoib.model.links[arguments[0]], v = uipoib.view, a = v.place(l.A), b = v.place(l.B), c = v.bend(l), r = v.map.getBoundingClientRect(), t = 0.32;
const at = (k) => (1 - t) ** 2 * a[k] + 2 * t * (1 - t) * (2 * c[k] - (a[k] + b[k]) / 2) + t * t * b[k];
return [r.left + at(0), r.top + at(1)];"""
PLACE = """const v = uipoib.view, r = v.map.getBoundingClientRect(), [x, y] = v.place(uipoib.model.nodes.find((k) => k.name === arguments[0]));
return [r.left + x, r.top + y];"""
LINK = """const m = uipoib.model; return m.links.findIndex((l) => [m.endName(l, false), m.endName(l, true)].includes(arguments[0]));"""
# Returns every visible text whose contrast with its background is too low by WCAG 2.1, together with this contrast
CONTRAST = """
const parse = (c) => c.match(/[\\d.]+/g).map(Number);
const light = (c) => { const f = (v) => (v /= 255, v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
const bad = [];
let seen = 0;
for (const e of document.querySelectorAll("body *")) {
	if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest(".hidden"))
		continue;
	const a = light(parse(getComputedStyle(e).color)), b = light(behind(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	seen++;
	if (ratio < 4.5)
		bad.push(`${e.tagName} ${e.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
}
return [seen, bad];"""


def colours_near(b, x, y, r=14):
    return {c for row in b.pixels(x - r, y - r, 2 * r, 2 * r) for c in row}


def colour(b, name):
    v = b.js("return getComputedStyle(document.documentElement).getPropertyValue('--' + arguments[0]).trim()", name)
    return tuple(int(v[k:k + 2], 16) for k in (1, 3, 5))


def near(colours, want):
    return any(sum(abs(p - q) for p, q in zip(c, want)) < 60 for c in colours)


def link_now(b, k):
    """State and place of link k on the page, and the colours that the map has at a part of it that no label covers. The picture is taken
    between two readings of the state and the place; None if they differ, because then nobody knows which of them the picture shows."""
    def read():
        return b.js("return uipoib.model.links[arguments[0]].state", k), b.js(ON_LINK, k)
    before = read()
    b.settle()  # the browser has drawn the state that was read
    colours = colours_near(b, *before[1], 8)
    return (before[0], colours) if read() == before else None


def drawn(b, k, state, red):
    """Whether link k has this state on the page, and its line has the colour of cables that are down (RED) or another one (not RED)"""
    now = link_now(b, k)
    return now is not None and now[0] == state and near(now[1], colour(b, "down")) == red


def title(b):
    return b.js("return document.getElementById('selected-title').textContent")


def run(*args):
    subprocess.run([uipoib, *args], check=True, stdout=subprocess.DEVNULL)


def cable(b):
    k = b.js(LINK, "Hca1/1")
    check("a cable is up, and not in the colour of those that are down", eventually(lambda: drawn(b, k, "up", False)), link_now(b, k))
    run("fabric", "link", "set", "Hca1/1", "down")
    check("a pulled cable changes its colour on the map", eventually(lambda: drawn(b, k, "disabled", True)), link_now(b, k))
    check("the event is in the list", eventually(lambda: "Switch1/1" in b.js("return document.getElementById('log').textContent")))
    check("the summary counts the link", eventually(lambda: b.js("return document.getElementById('summary').textContent").find("4 of 5 links up") >= 0))
    b.picture("pulled")
    run("fabric", "link", "set", "Hca1/1", "up")
    check("plugged in, it looks as before", eventually(lambda: drawn(b, k, "up", False)), link_now(b, k))


def named(b):
    """A user who controls the browser by voice says the text of a button, so the name of the button must contain this text."""
    buttons = b.js("return [...document.querySelectorAll('#zoom button')]")
    names = [b.call("GET", f"/element/{next(iter(e.values()))}/computedlabel") for e in buttons]
    check("the names of the buttons contain what is seen on them", names == ["+ closer", "\u2212 farther", "All"], names)


def keyboard(b):
    b.open()
    for _ in range(12):
        b.keys("Tab")
        if b.js("return document.activeElement.id") == "map":
            break
    check("Tab reaches the map", b.js("return document.activeElement.id") == "map")
    said = [b.js("return document.getElementById('say').textContent")]
    for key in ("Down", "Right", "Down", "Left", "Up"):
        b.keys(key)
        said.append(b.js("return document.getElementById('say').textContent"))
    check("arrow keys lead over all levels, and each node is said", len({s.split(",")[0] for s in said}) >= 4, said)
    b.keys("Enter")
    check("Enter shows the node", title(b) == said[-1].split(",")[0], title(b))
    for _ in range(12):
        b.keys("Tab")
        if b.js("return Boolean(document.activeElement.closest('#selected-body .chips'))"):
            break
    b.keys("Enter")
    check("Tab and Enter go on to a port and its counters",
          eventually(lambda: "xmit data" in b.js("return document.getElementById('selected-body').textContent")), title(b))


def panels(b):
    b.click(*b.js(PLACE, "Hca2"))
    text = lambda: b.js("return document.getElementById('selected-body').textContent")
    check("a click on a node shows it with its host", eventually(lambda: title(b) == "Hca2" and "10.4.0.2/16" in text()), text())
    hostile = b.js("return [uipoib.model.nodes.find((n) => n.name === 'Hca2').description, document.querySelectorAll('main img, main script, main b').length]")
    check("markup in a NodeDescription stays text", "<img" in hostile[0] and hostile[1] == 0 and "<img" in text(), hostile)
    b.js("document.getElementById('from').value = 'h1'; document.getElementById('to').value = '10.4.0.2'; document.querySelector('#path button').click();")
    hops = lambda: b.js("return document.getElementById('hops').innerText")
    check("a path has the entries of the LFTs", eventually(lambda: "Switch1/3 → Switch2/2" in hops() and "LID" in hops()), hops())
    at = b.js(ON_LINK, b.js(LINK, "Switch1/3"))
    check("and stands out on the map", eventually(lambda: near(colours_near(b, *at), colour(b, "mark"))))
    b.picture("path")
    # h1 is back in the partition when its port is Active again.
    eventually(lambda: b.js("return uipoib.model.partitions[0].full_members.length === 5 && uipoib.model.groups[0].nmembers === 2"))
    b.js("document.querySelector('#groups button').click()")
    check("a group's tree stands out", eventually(lambda: b.js("return uipoib.view.mark.links.length === 3 && uipoib.view.mark.nodes.size === 4")))
    at = b.js(ON_LINK, b.js(LINK, "Hca1/1"))
    b.click(*at)
    check("a click on a link shows it", eventually(lambda: title(b) == "Switch1/1 – Hca1/1"), title(b))
    ping = subprocess.Popen([uipoib, "exec", "h1", "ping", "-q", "-i", "0.01", "-s", "1000", "10.4.0.2"], stdout=subprocess.DEVNULL)
    check("its rate follows the traffic", eventually(lambda: re.search(r"From Hca1/1\d+ [kM]b/s", text())), text())
    ping.kill()
    ping.wait()
    b.js("document.querySelector('#partitions button').click()")
    check("a partition's members stand out", b.js("return uipoib.view.mark.nodes.size") == 5, b.js("return uipoib.model.partitions"))
    check("the master is named", b.js("return document.getElementById('sms').textContent").startswith("Switch1/0master"))
    b.js("document.getElementById('table-of-links').open = true")
    check("the table has the links as text", eventually(lambda: b.js("return document.querySelectorAll('#rows tr').length") == 5))
    b.js("document.getElementById('table-of-links').open = false; uipoib.view.on.clear()")


def looks(b):
    for scheme in ("light", "dark"):
        b.scheme(scheme)
        seen, bad = b.js(CONTRAST)
        check(f"{scheme}: all texts have a contrast of 4.5 at least", seen > 40 and not bad, (seen, bad))
        back = b.js("return getComputedStyle(document.body).backgroundColor")
        check(f"{scheme}: the page is {scheme}", (sum(map(int, re.findall(r"\d+", back))) < 200) == (scheme == "dark"), back)
        b.width(360, 740)
        check(f"{scheme}: nothing is wider than 360 pixels", b.js("return document.documentElement.scrollWidth") == 360,
              b.js("return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 361).map((e) => e.tagName + '#' + e.id)"))
        b.js("uipoib.view.fit()")
        time.sleep(0.3)
        b.picture(f"narrow-{scheme}")
        b.width(1200, 850)
        b.js("uipoib.view.fit()")
        time.sleep(0.3)
        b.picture(f"wide-{scheme}")
    b.scheme("light")


def times(b):
    """Returns the milliseconds that this browser takes to parse the snapshot's JSON twice ("unit"), to show the first picture after the begin
    of the page and after the snapshot, and to draw a frame of the moved map; and the size of the snapshot in octets."""
    ms = {}
    ms["unit"], size = b.call("POST", "/execute/async", {"script": """const done = arguments[0]; (async () => {
        const t = await (await fetch('/api/snapshot')).text(), v = [];
        for (let k = 0; k < 5; k++) { const at = performance.now(); JSON.parse(t); JSON.parse(t); v.push(performance.now() - at); }
        return [Math.min(...v), t.length]; })().then(done);""", "args": []})
    ms["begin"], begun = b.js("""return [performance.getEntriesByName('first-picture')[0].startTime,
        performance.getEntriesByType('resource').find((e) => e.name.endsWith('/api/snapshot')).responseEnd];""")
    ms["first"] = ms["begin"] - begun
    # The browser draws a picture some time after paint() has requested it. So the script reads a pixel of the last of ten
    # pictures through a separate canvas, and thereby waits until all ten are drawn.
    for name, code in (("all", "v.fit();"), ("near", "v.fit(); v.zoom(6);")):
        ms[name] = min(b.js("const v = uipoib.view, g = new OffscreenCanvas(1, 1).getContext('2d'); " + code + """ v.paint();
            const at = performance.now();
            for (let k = 0; k < 10; k++) { v.at.x += 7; v.at.y += k % 2 ? 3 : -3; v.paint(); }
            g.drawImage(v.canvas, 0, 0); g.getImageData(0, 0, 1, 1);
            return (performance.now() - at) / 10;""") for _ in range(5))
    return ms, size


BOUNDS = {"all": 1, "near": 1, "first": 10}  # the most that each time may be, as a ratio to the unit


def ratios(ms):
    return {name: ms[name] / ms["unit"] for name in BOUNDS}


def speed(b):
    """Measures in rounds until all bounds hold, or for two minutes. Other programs can make a round slower. So each ratio is made of two times
    of the same round, and for each bound the smallest ratio of all rounds counts."""
    ms, size = times(b)
    least = ratios(ms)
    end = time.monotonic() + 120
    while any(least[n] >= BOUNDS[n] for n in BOUNDS) and time.monotonic() < end:
        b.open()
        ms, size = times(b)
        least = {n: min(least[n], r) for n, r in ratios(ms).items()}
    nodes, shown, links = b.js("const m = uipoib.model; return [m.nodes.length, m.shown.length, m.links.filter((l) => l.drawn).length]")
    print(f"# {nodes} nodes, {shown} shown, {links} links drawn; snapshot of {size} octets, parsed twice in {ms['unit']:.1f} ms; first picture after "
          f"{ms['begin']:.0f} ms, {ms['first']:.0f} ms after the snapshot came; all: {ms['all']:.1f} ms a frame; near: {ms['near']:.1f} ms a frame", flush=True)
    check("10,000 nodes are shown with their leaves folded", nodes > 10000 and shown < 1000, (nodes, shown))
    check("hosts are not folded", b.js("return uipoib.model.interfaces.every((i) => !uipoib.model.nodeOf(i.fabric, i.port).hidden)"))
    for n in "all", "near":
        check(f"a frame of the map moved ({n}) costs less than parsing the snapshot", least[n] < BOUNDS[n], least)
    check("the first picture costs less than ten times of that", least["first"] < BOUNDS["first"], least)


b = Browser(url)
try:
    b.scheme("light")
    b.open()
    if what == "small":
        eventually(lambda: b.js("return document.getElementById('live').className") == "on")
        cable(b)
        panels(b)
        named(b)
        keyboard(b)
        looks(b)
    else:
        b.picture("large")
        speed(b)
    bad = [e for e in b.call("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]
    check("the console has no error and no warning", not bad, str(bad)[:500])
finally:
    b.close()
sys.exit(status())
