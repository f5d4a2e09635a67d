// Runs behind the script of a report page and uses the page as a reader would: sorts tables, rests the pointer on pictures, switches series
// off and on. What does not do what it should is left as JSON in an element of the page, with how much was tried.
(() => {
    const findings = [], tried = { sorted: 0, told: 0, switched: 0, saved: 0 };
    const check = (holds, what) => { if (!holds && findings.length < 40) findings.push(what); };
    const column = (table, place) => [...table.tBodies[0].rows].map((row) => row.cells[place].textContent);

    // Tables with known orders stand in the page before its script runs; `data-order` is the ascending one.
    for (const table of document.querySelectorAll("table[data-order]")) {
        const expected = table.dataset.order.split("|"), before = column(table, 0), button = table.querySelector("th .sort");
        check(button, `no heading to sort ${before.join("|")} by`);
        if (!button) continue;
        button.click();
        check(column(table, 0).join("|") === expected.join("|"), `ascending: ${column(table, 0).join("|")}, not ${expected.join("|")}`);
        check(table.querySelector("th").getAttribute("aria-sort") === "ascending", "the heading does not say that it is sorted");
        button.click();
        const known = expected.filter((cell) => cell !== "–");
        const falling = [...known.reverse(), ...expected.filter((cell) => cell === "–")];
        check(column(table, 0).join("|") === falling.join("|"), `descending: ${column(table, 0).join("|")}, not ${falling.join("|")}`);
        button.click();
        check(column(table, 0).join("|") === before.join("|"), "the third time does not bring the first order back");
        tried.sorted += 1;
    }
    const bubble = document.querySelector(".bubble");
    check(bubble && bubble.hidden, "there is no bubble, or it is shown before the pointer is anywhere");
    for (const picture of document.querySelectorAll("svg.iolab-figure")) {
        const marks = [...picture.querySelectorAll(".m, .o, .i, rect[class='f'], rect[rx='2']")].filter((mark) => mark.getBoundingClientRect().width > 0);
        check([...picture.querySelectorAll("title")].every((title) => title.parentElement === picture), `"${picture.querySelector("title").textContent}" would tell twice`);
        for (const mark of marks.slice(0, 3)) {
            const box = mark.getBoundingClientRect();
            const at = { clientX: (box.left + box.right) / 2, clientY: (box.top + box.bottom) / 2, bubbles: true };
            mark.dispatchEvent(new PointerEvent("pointermove", at));
            // Samples of a legend tell nothing.
            if (mark.closest(".key") || mark.closest("g")?.previousElementSibling === null) continue;
            if (!bubble.hidden) { check(/\d|no value/.test(bubble.textContent), `the bubble says "${bubble.textContent}"`); tried.told += 1; }
        }
        picture.dispatchEvent(new PointerEvent("pointerleave"));
        check(bubble.hidden, "the bubble stays when the pointer leaves");
        const key = picture.querySelector(".key[role=button]");
        if (key) {
            const series = () => [...picture.querySelectorAll(`[data-series="${key.dataset.key}"]`)];
            check(series().length > 0, `a key without a series in "${picture.querySelector("title").textContent}"`);
            key.dispatchEvent(new MouseEvent("click", { bubbles: true }));
            check(series().every((one) => getComputedStyle(one).opacity < 0.2), "a series that was switched off is seen");
            check(key.getAttribute("aria-pressed") === "false", "the key does not say that it is off");
            key.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
            check(series().every((one) => getComputedStyle(one).opacity === "1"), "a series does not come back by the keyboard");
            tried.switched += 1;
        }
    }
    for (const link of document.querySelectorAll("a[download]")) {
        const lines = decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1)).trim().split("\r\n");
        const names = lines[0].split(",");
        check(lines.length > 1 && new Set(names).size === names.length && names.every((name) => /^[\p{L}\p{N}_.]+$/u.test(name)), `${link.download} begins with ${lines[0]}`);
        tried.saved += 1;
    }
    for (const link of document.querySelectorAll("main a[href^='#']")) check(document.getElementById(link.hash.slice(1)), `${link.hash} leads nowhere`);
    dispatchEvent(new Event("beforeprint"));
    document.querySelectorAll("details.warnings").forEach((one) => check(one.open, "warnings stay folded on paper"));
    const left = document.createElement("pre");
    left.id = "what-the-page-did";
    left.textContent = JSON.stringify({ findings, tried });
    document.body.append(left);
})();
