// Runs inside a page: notes errors from the first script on, and when everything has loaded, looks at every picture as it is shown.
// Findings are left as JSON in an element of the outermost document, where --dump-dom shows them.
(() => {
    const findings = [];
    const add = (what) => { if (findings.length < 60) findings.push(what); };
    for (const level of ["error", "warn"]) {
        const said = console[level];
        console[level] = (...words) => { add(`console.${level}: ${words.join(" ")}`); said.apply(console, words); };
    }
    addEventListener("error", (event) => add(`error: ${event.message || "cannot load " + (event.target.src || event.target.href)}`), true);
    addEventListener("unhandledrejection", (event) => add(`rejected promise: ${event.reason}`));

    const short = (text) => `"${text.length > 40 ? text.slice(0, 40) + "…" : text}"`;
    // A box of a text has room for accents and descenders that most lines do not use.
    const ink = (text) => {
        const box = text.getBBox();
        return { left: box.x, right: box.x + box.width, top: box.y + box.height * 0.22, bottom: box.y + box.height * 0.86 };
    };
    const luminance = (colour) => {
        const channels = colour.match(/[\d.]+/g).slice(0, 3).map((one) => one / 255);
        const [red, green, blue] = channels.map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (one, other) => {
        const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
        return (light + 0.05) / (dark + 0.05);
    };

    const lookAt = (svg) => {
        const name = svg.querySelector("title")?.textContent || svg.getAttribute("aria-label") || "a picture";
        const view = svg.viewBox.baseVal;
        const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() !== "");
        const boxes = texts.map(ink);
        const shown = svg.getBoundingClientRect();
        if (shown.width === 0) return 0;
        const ground = svg.querySelector(".ground");
        texts.forEach((text, n) => {
            const box = boxes[n], label = `${short(name)}: text ${short(text.textContent)}`;
            if (view.width > 0 && (box.left < view.x - 0.5 || box.top < view.y - 0.5 || box.right > view.x + view.width + 0.5 || box.bottom > view.y + view.height + 0.5)) {
                add(`${label} leaves the picture (${box.left.toFixed(1)} … ${box.right.toFixed(1)} of ${view.width}, ${box.top.toFixed(1)} … ${box.bottom.toFixed(1)} of ${view.height})`);
            }
            for (let m = n + 1; m < texts.length; m++) {
                const other = boxes[m];
                if (box.left < other.right - 1 && other.left < box.right - 1 && box.top < other.bottom - 0.5 && other.top < box.bottom - 0.5) {
                    add(`${label} overlaps ${short(texts[m].textContent)}`);
                }
            }
            const style = getComputedStyle(text);
            if (ground && !text.matches(".on-dark, .on-light")) {
                const ratio = contrast(style.fill, getComputedStyle(ground).fill);
                if (ratio < 4.5) add(`${label} is hard to read: contrast ${ratio.toFixed(1)} (${style.fill})`);
            }
            const size = parseFloat(style.fontSize) * (view.width > 0 ? shown.width / view.width : 1);
            if (size < 10.9) add(`${label} is shown ${size.toFixed(1)} px high`);
        });
        if (svg.getAttribute("role") === "img") {
            const labels = (svg.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
            const said = labels.map((id) => document.getElementById(id)?.textContent.trim() || "");
            if (said.length === 0 ? !svg.getAttribute("aria-label") : said.includes("")) add(`${short(name)} has no words for those who cannot see it`);
        }
        return texts.length;
    };

    const inspect = () => {
        // A wrapper is only a window for the page inside it.
        if (document.querySelector("iframe[data-inspected]")) return;
        const counts = new Map();
        document.querySelectorAll("[id]").forEach((one) => counts.set(one.id, (counts.get(one.id) || 0) + 1));
        counts.forEach((count, id) => { if (count > 1) add(`id "${id}" stands ${count} times in the page`); });
        document.querySelectorAll("details").forEach((one) => { one.open = true; });
        const pictures = [...document.querySelectorAll("svg")];
        const texts = pictures.map(lookAt).reduce((sum, one) => sum + one, 0);
        const page = document.documentElement;
        if (page.scrollWidth > innerWidth + 1) add(`the page is ${page.scrollWidth} px wide in a window of ${innerWidth} px`);
        const outer = window.parent.document;
        const left = outer.createElement("pre");
        left.id = "inspection-of-the-page";
        left.textContent = JSON.stringify({ width: innerWidth, dark: matchMedia("(prefers-color-scheme: dark)").matches, pictures: pictures.length, texts, findings });
        outer.body.append(left);
    };
    addEventListener("load", () => setTimeout(inspect, 0));
})();
