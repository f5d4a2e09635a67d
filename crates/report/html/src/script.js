// What a page gains where scripts run: values under the pointer at once, series that can be switched off, tables that can be sorted.
// Nothing is missing without it: values stand in the tables, and a picture tells them after a moment by itself.
(() => {
  "use strict";
  const make = (name, attributes) => Object.assign(document.createElement(name), attributes);

  // Values under the pointer: the nearest marker within reach, or the strip or cell that the pointer is on.
  const REACH = 24;
  const bubble = make("div", { className: "bubble", hidden: true });
  const spots = (picture) => {
    const told = [];
    for (const title of picture.querySelectorAll("* > title")) {
      const owner = title.parentElement;
      if (owner === picture) continue;
      told.push({ owner, text: title.textContent });
      title.remove();
    }
    return told;
  };
  const nearest = (told, event) => {
    const on = told.find((one) => one.owner === event.target);
    const isMark = (one) => one.owner.localName !== "rect";
    if (on && isMark(on)) return on;
    let best = null, least = REACH;
    for (const one of told.filter(isMark)) {
      if (one.owner.closest(".off")) continue;
      const box = one.owner.getBoundingClientRect();
      const distance = Math.hypot((box.left + box.right) / 2 - event.clientX, (box.top + box.bottom) / 2 - event.clientY);
      if (distance < least) [best, least] = [one, distance];
    }
    return best || on;
  };
  const tell = (picture) => {
    const told = spots(picture);
    let hot = null;
    const show = (one, event) => {
      if (hot !== one) { hot?.owner.classList.remove("hot"); one?.owner.classList.add("hot"); hot = one; }
      bubble.hidden = !one;
      if (!one) return;
      bubble.textContent = one.text;
      const left = Math.min(event.clientX + 14, innerWidth - bubble.offsetWidth - 8);
      const below = event.clientY + 18 + bubble.offsetHeight < innerHeight;
      bubble.style.left = Math.max(left, 8) + "px";
      bubble.style.top = (below ? event.clientY + 18 : event.clientY - bubble.offsetHeight - 12) + "px";
    };
    picture.addEventListener("pointermove", (event) => show(nearest(told, event), event));
    picture.addEventListener("pointerleave", (event) => show(null, event));
  };

  // A legend's entries switch their series off and on.
  const keyed = (picture) => {
    const keys = [...picture.querySelectorAll(".key")];
    const series = new Set(keys.map((key) => key.dataset.key));
    if (series.size < 2) return;
    picture.setAttribute("role", "group");
    for (const key of keys) {
      const own = [...keys.filter((other) => other.dataset.key === key.dataset.key),
        ...picture.querySelectorAll(`[data-series="${key.dataset.key}"]`)];
      const turn = () => {
        const off = !key.classList.contains("off");
        own.forEach((one) => one.classList.toggle("off", off));
        own.filter((one) => one.matches(".key")).forEach((one) => one.setAttribute("aria-pressed", String(!off)));
      };
      for (const [name, value] of [["role", "button"], ["tabindex", "0"], ["aria-pressed", "true"], ["aria-label", `show ${key.textContent}`]]) key.setAttribute(name, value);
      key.addEventListener("click", turn);
      key.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(); } });
    }
  };

  // A number as people read it, in base units: 1.5 KiB, 54.0 µs, × 2.4, ÷ 2, −3.4 %. Null for what is none.
  const UNITS = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
    KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };
  const number = (text) => {
    const found = /^[\[<\s]*([+\u2212×÷-]?)\s*(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([A-Za-zµ%]*)/.exec(text.trim());
    if (!found) return null;
    const [, sign, digits, unit] = found;
    const value = Number(digits.replaceAll(",", "")) * (UNITS[unit] || (unit === "%" ? 0.01 : 1));
    if (sign === "÷") return 1 / value;
    const minus = sign === "\u2212" || sign === "-";
    // A change in percent stands beside factors.
    if (sign && unit === "%") return minus ? 1 - value : 1 + value;
    return minus ? -value : value;
  };
  const sortable = (table) => {
    const [body] = table.tBodies, rows = body ? [...body.rows] : [];
    const heads = [...table.querySelectorAll("thead th")];
    if (rows.length < 3 || rows.some((row) => row.cells.length !== heads.length)) return;
    heads.forEach((head, column) => {
      const button = make("button", { type: "button", className: "sort", title: "sort by this column" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] || "ascending";
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        if (next === "none") return body.append(...rows);
        head.setAttribute("aria-sort", next);
        const text = (row) => row.cells[column].textContent.trim();
        const numbers = new Map(rows.map((row) => [row, number(text(row))]));
        const known = rows.filter((row) => numbers.get(row) !== null).length;
        const way = next === "ascending" ? 1 : -1;
        const byNumber = known * 2 > rows.length;
        const order = (one, other) => {
          if (!byNumber) return way * text(one).localeCompare(text(other), "en", { numeric: true });
          const [a, b] = [numbers.get(one), numbers.get(other)];
          // What has no value stays at the end.
          return a === null || b === null ? (a === null) - (b === null) : way * (a - b);
        };
        body.append(...[...rows].sort(order));
      });
    });
  };

  document.body.append(bubble);
  document.querySelectorAll("svg.iolab-figure").forEach((picture) => { tell(picture); keyed(picture); });
  document.querySelectorAll("main table").forEach(sortable);
  addEventListener("beforeprint", () => document.querySelectorAll("details.warnings").forEach((one) => { one.open = true; }));
  document.documentElement.dataset.script = "on";
})();
