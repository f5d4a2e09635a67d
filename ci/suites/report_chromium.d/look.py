"""Opens HTML pages in headless Chromium and prints what is wrong with how they look: `look.py CHROMIUM FOLDER PAGE…`.

Each page is looked at light and dark (by the system's wish and by its own attribute), wide and narrow, and is printed to a PDF.
A page with a script is used, too: its policy must let the script run, and no other; tables are sorted, pictures asked for their values,
series switched off. The last page is a canary with known faults; not finding them is a fault.
"""

import html
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
NARROW = 390

CANARY = """<!DOCTYPE html><html><head><title>canary</title></head><body><p id="twice"></p><p id="twice"></p>
<svg viewBox="0 0 200 60" width="200" height="60" role="img"><rect class="ground" width="200" height="60" fill="#fff"/>
<text x="10" y="30">one text</text><text x="12" y="32">upon another</text><text x="150" y="50">leaves the picture</text>
<text x="5" y="55" fill="#eee">pale</text><text x="60" y="10" font-size="3">tiny</text></svg>
<div style="width:3000px">wide</div><script>console.error("said so"); nothing.here;</script></body></html>"""
CAUGHT = ["overlaps", "leaves the picture", "hard to read", "px high", "no words", "stands 2 times", "px wide", "console.error", "error: "]


def run(chromium, folder, *arguments):
    """Output and log of Chromium."""
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
               "--enable-logging=stderr", f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    if done.returncode != 0:
        raise SystemExit(f"chromium failed with {arguments}: {done.stderr[-1500:]}")
    return done.stdout, done.stderr


def prepared(page, theme):
    """The page with the inspection as its first script, and a theme of its own. Its policy would forbid our script, so it goes."""
    page = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page, flags=re.IGNORECASE)
    script = f"<script>{(HERE / 'inspect.js').read_text()}</script>"
    page, count = re.subn(r"<head[^>]*>", lambda found: found.group(0) + script, page, count=1)
    assert count == 1, "the page has no head"
    if theme:
        page = re.sub(r"<html", f'<html data-theme="{theme}"', page, count=1)
    return page


def framed(page):
    """A window narrower than Chromium's smallest."""
    return (f'<!DOCTYPE html><html><head></head><body><iframe data-inspected width="{NARROW}" height="800" style="border:0" '
            f'srcdoc="{html.escape(page)}"></iframe></body></html>')


def looks(chromium, folder, page):
    """Name of each way to look at a page, and what was found."""
    for name, theme, narrow, flags in [
        ("light", None, False, ["--window-size=1280,900"]),
        ("dark", None, False, ["--window-size=1280,900", "--blink-settings=preferredColorScheme=0"]),
        ("dark by attribute", "dark", False, ["--window-size=1280,900"]),
        ("light by attribute", "light", False, ["--window-size=1280,900", "--blink-settings=preferredColorScheme=0"]),
        ("narrow", None, True, ["--window-size=800,900"]),
    ]:
        text = prepared(page, theme)
        file = folder / "page.html"
        file.write_text(framed(text) if narrow else text)
        shown, _ = run(chromium, folder, *flags, "--dump-dom", file.as_uri())
        found = re.findall(r'<pre id="inspection-of-the-page">(.*?)</pre>', shown, flags=re.DOTALL)
        if not found:
            raise SystemExit(f"the page was not inspected ({name}): {shown[-800:]}")
        seen = json.loads(html.unescape(found[-1]))
        assert seen["dark"] == (theme != "dark" and "preferredColorScheme=0" in " ".join(flags)), seen
        assert not narrow or seen["width"] == NARROW, seen
        yield name, seen


def printed(chromium, folder, file):
    """Prints the page as it is; gives what Chromium complained of, and the number of sheets."""
    output = folder / "page.pdf"
    output.unlink(missing_ok=True)
    _, log = run(chromium, folder, f"--print-to-pdf={output}", "--no-pdf-header-footer", file.as_uri())
    said = re.findall(r"CONSOLE[^\]]*\] (\".*?\", source.*)", log)
    wrong = [line for line in said if re.search(r"Uncaught|Refused|Failed|ERR_|rror", line)]
    data = output.read_bytes()
    sheets = len(re.findall(rb"/Type\s*/Page\b", data))
    if not data.startswith(b"%PDF-") or sheets == 0:
        wrong.append(f"what was printed is no PDF: {data[:20]!r}")
    return wrong, sheets


# Cells in an order that is none, and in ascending order.
ORDERS = [
    (["1.50 KiB", "2.00 MiB", "\u2013", "900 B"], ["900 B", "1.50 KiB", "2.00 MiB", "\u2013"]),
    (["\u00d7 2.45", "\u00f7 1.22", "+3.4 %", "\u221240.0 %"], ["\u221240.0 %", "\u00f7 1.22", "+3.4 %", "\u00d7 2.45"]),
    (["1.20 ms", "54.0 \u00b5s", "900 ns", "2.00 s"], ["900 ns", "54.0 \u00b5s", "1.20 ms", "2.00 s"]),
    (["13.3 k/s", "456 /s", "1,234 /s"], ["456 /s", "1,234 /s", "13.3 k/s"]),
    (["c 10", "b", "c 9"], ["b", "c 9", "c 10"]),
]


def fixture(shown, ascending):
    rows = "".join(f"<tr><td>{cell}</td><td>x</td></tr>" for cell in shown)
    return f'<table data-order="{"|".join(ascending)}"><thead><tr><th>a</th><th>b</th></tr></thead><tbody>{rows}</tbody></table>'


def runs_its_script(chromium, folder, page, *flags):
    file = folder / "script.html"
    file.write_text(page)
    shown, _ = run(chromium, folder, *flags, "--dump-dom", file.as_uri())
    assert "<figure" in shown, shown[:500]
    return bool(re.search(r"<html[^>]*data-script=", shown))


# The same page in a frame where scripts run, and in one where they do not: readers see the same words in both.
BESIDE = """<!DOCTYPE html><html><head></head><body><iframe width="1200" height="900" sandbox="allow-same-origin" srcdoc="{page}"></iframe>
<iframe width="1200" height="900" sandbox="allow-same-origin allow-scripts" srcdoc="{page}"></iframe><script>addEventListener("load", () => {{
const [bare, whole] = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument), findings = [];
const words = (page) => page.querySelector("main").innerText;
if (bare.documentElement.dataset.script || !whole.documentElement.dataset.script) findings.push("the frames do not differ");
if (words(bare).length < 400 || words(bare) !== words(whole)) findings.push(`${{words(bare).length}} letters, with it ${{words(whole).length}}`);
const titles = (page) => page.querySelectorAll("svg title").length;
if (titles(bare) <= titles(whole)) findings.push("pictures do not tell their values by themselves");
const left = document.createElement("pre"); left.id = "both"; left.textContent = JSON.stringify(findings); document.body.append(left); }});</script></body></html>"""


def without_script(chromium, folder, page):
    file = folder / "both.html"
    file.write_text(BESIDE.format(page=html.escape(page)))
    shown, log = run(chromium, folder, "--dump-dom", file.as_uri())
    found = re.findall(r'<pre id="both">(.*?)</pre>', shown, flags=re.DOTALL)
    return json.loads(html.unescape(found[-1])) if found else [f"it was not looked at: {log[-500:]}"]


def used(chromium, folder, file):
    """What is wrong with how a page answers its reader."""
    page = file.read_text()
    wrong = []
    if not runs_its_script(chromium, folder, page):
        wrong.append("its policy does not let its script run")
    if runs_its_script(chromium, folder, page.replace('"use strict";', '"use strict"; ', 1)):
        wrong.append("its policy lets another script run")
    wrong += [f"without its script: {line}" for line in without_script(chromium, folder, page)]
    # A canary: a page that sorts one way only.
    broken = page.replace('next === "ascending" ? 1 : -1', "1")
    assert broken != page, "the canary is the page itself"
    seen = use(chromium, folder, broken)[0]
    wrong += [f"the canary's fault '{fault}' was not found" for fault in ["descending"] if not any(fault in line for line in seen)]
    found, tried = use(chromium, folder, page)
    return wrong + found, tried


def use(chromium, folder, page):
    """What a page does not do as it should, and how much was tried."""
    page = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page, flags=re.IGNORECASE)
    page = page.replace("</main>", "".join(fixture(*order) for order in ORDERS) + "</main>", 1)
    page = page.replace("</body>", f"<script>{(HERE / 'interact.js').read_text()}</script></body>", 1)
    target = folder / "used.html"
    target.write_text(page)
    shown, log = run(chromium, folder, "--window-size=1280,900", "--dump-dom", target.as_uri())
    found = re.findall(r'<pre id="what-the-page-did">(.*?)</pre>', shown, flags=re.DOTALL)
    if not found:
        return [f"the page could not be used: {log[-800:]}"], {}
    seen = json.loads(html.unescape(found[-1]))
    if seen["tried"]["sorted"] != len(ORDERS) or seen["tried"]["told"] == 0 or seen["tried"]["saved"] == 0:
        seen["findings"].append(f"too little could be tried: {seen['tried']}")
    return seen["findings"], seen["tried"]


def main():
    chromium, folder, *files = sys.argv[1:]
    folder = pathlib.Path(folder)
    failed = 0
    for file in map(lambda name: pathlib.Path(name).resolve(), files):
        for name, seen in looks(chromium, folder, file.read_text()):
            for finding in seen["findings"]:
                print(f"not ok: {file.name}, {name}: {finding}")
            failed += len(seen["findings"])
            print(f"{file.name}, {name}: {seen['pictures']} pictures, {seen['texts']} texts, {len(seen['findings'])} findings")
        wrong, sheets = printed(chromium, folder, file)
        for line in wrong:
            print(f"not ok: {file.name}, printed: {line}")
        failed += len(wrong)
        print(f"{file.name}, printed: {sheets} sheets")
        if "<script>" in file.read_text():
            wrong, tried = used(chromium, folder, file)
            for line in wrong:
                print(f"not ok: {file.name}, used: {line}")
            failed += len(wrong)
            print(f"{file.name}, used: {tried}")
    _, seen = next(looks(chromium, folder, CANARY))
    for fault in CAUGHT:
        if not any(fault in finding for finding in seen["findings"]):
            failed += 1
            print(f"not ok: the canary's fault '{fault}' was not found in {seen['findings']}")
    sys.exit(1 if failed else 0)


main()
