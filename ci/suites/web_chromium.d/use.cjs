// Uses the pages of `iolab web` as a person does, and prints what is wrong: `use.cjs CHROMIUM ADDRESS [FOLDER FOR PICTURES]`.
const fs = require("fs");
const puppeteer = require("puppeteer-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [chromium, address, pictures] = process.argv.slice(2);
const base = new URL(address).origin;
const INTERVAL_MS = 1000;
const wrong = [];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// What axe finds, and what leaves the window.
const look = async (page, name) => {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await axe.run();
    const wide = document.documentElement.scrollWidth - innerWidth;
    return violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 120)}`).concat(wide > 1 ? [`${wide} px wider than the window`] : []);
  });
  if (pictures) await page.screenshot({ path: `${pictures}/${name.replace(/[^a-z0-9]+/gi, "_")}.png` });
  return found;
};

const opened = async (browser, scheme, width) => {
  const page = await browser.newPage();
  await page.setViewport({ width, height: 900 });
  await page.setBypassCSP(false);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.on("console", (message) => { if (message.type() === "error") wrong.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => wrong.push(`script: ${error.message}`));
  return page;
};

// Fills the form, reads the plan, starts the job.
const start = async (page, options) => {
  await page.goto(`${base}/new`);
  for (const [name, value] of Object.entries(options)) {
    const field = await page.$(`[name="o.${name}"]`);
    const tag = await field.evaluate((one) => one.localName);
    if (tag === "select") await field.select(value);
    else await field.evaluate((one, text) => { one.value = text; }, value);
  }
  await Promise.all([page.waitForNavigation(), page.click("main button")]);
  const plan = await page.$eval("main", (main) => main.textContent);
  if (!plan.includes("worker 0, stage 0")) wrong.push(`the plan is not shown: ${plan.slice(0, 300)}`);
  await Promise.all([page.waitForNavigation(), page.click("main form button")]);
};

const live = async (browser) => {
  const page = await opened(browser, "light", 1280);
  await page.goto(address);
  await start(page, { name: "from the form", ioengine: "null", rw: "randrw", size: "64m", time_based: "1", runtime: "14" });
  await page.waitForFunction(() => document.documentElement.dataset.connection === "open" && document.documentElement.dataset.parts > 8, { timeout: 30000 });
  // From the end of an interval until the page shows it: two frames after its part was replaced, the old picture is gone.
  const shown = await page.evaluate(() => new Promise((done) => {
    const part = document.getElementById("now"), all = [];
    let last = part.dataset.ended;
    new MutationObserver(() => {
      const { ended } = part.dataset;
      if (ended === last) return;
      last = ended;
      requestAnimationFrame(() => requestAnimationFrame(() => {
        all.push(Date.now() - Number(ended));
        if (all.length === 4) done(all);
      }));
    }).observe(part, { attributes: true, attributeFilter: ["data-ended"] });
  }));
  shown.sort((a, b) => a - b);
  const median = (shown[1] + shown[2]) / 2;
  console.log(`from the end of an interval to its picture: median ${median} ms, most ${shown[3]} ms of an interval of ${INTERVAL_MS} ms`);
  if (!(shown[0] >= 0 && median < INTERVAL_MS)) wrong.push(`intervals are shown late: ${shown} ms`);
  const late = [];
  for (let round = 0; round < 12; round++) {
    late.push(await page.$eval("#now", (part) => Number(part.dataset.late)));
    await sleep(250);
  }
  late.sort((a, b) => a - b);
  console.log(`from the file to the page: median ${late[6]} ms, most ${late[11]} ms`);
  if (!(late[6] >= 0 && late[6] < INTERVAL_MS)) wrong.push(`events are late: ${late} ms`);
  const pictures = await page.$$eval("#course svg", (all) => all.length);
  if (pictures < 1) wrong.push("no live picture");
  // What a reader has opened stays open when the part is replaced.
  await page.$eval("#course details", (one) => { one.open = true; });
  const parts = await page.evaluate(() => document.documentElement.dataset.parts);
  await page.waitForFunction((before) => Number(document.documentElement.dataset.parts) > Number(before) + 2, {}, parts);
  if (!(await page.$eval("#course details", (one) => one.open))) wrong.push("an opened table was closed again");
  wrong.push(...(await look(page, "live")).map((line) => `live: ${line}`));
  await page.waitForFunction(() => document.documentElement.dataset.connection === "ended", { timeout: 30000 });
  await page.waitForSelector("#connection a");
  // The recording is saved after the last event.
  for (let round = 0; round < 50; round++) {
    await page.goto(`${base}/`);
    if ((await page.$eval("main", (main) => main.textContent)).includes("from the form")) break;
    await sleep(200);
  }
  const [link] = await page.$$("xpath/.//a[contains(., 'from the form')]");
  if (!link) { wrong.push("the run is not listed when it has ended"); return; }
  await Promise.all([page.waitForNavigation(), link.click()]);
  await page.$eval("#tags", (field) => { field.value = "tried"; });
  await Promise.all([page.waitForNavigation(), page.click("form[action$=tags] button")]);
  if (!(await page.$eval("main", (main) => main.textContent)).includes("tried")) wrong.push("the tag is not shown");
  await page.close();
};

const withoutScript = async (browser) => {
  const page = await opened(browser, "light", 1280);
  await page.setJavaScriptEnabled(false);
  await page.goto(address);
  for (const path of ["/", "/entries/1", "/entries/1/report", "/compare?a=1&b=2", "/new"]) {
    const answer = await page.goto(base + path);
    if (!answer.ok()) wrong.push(`without a script, ${path}: ${answer.status()}`);
  }
  await page.close();
};

const looks = async (browser) => {
  for (const scheme of ["light", "dark"]) for (const width of [1280, 390]) {
    const page = await opened(browser, scheme, width);
    await page.goto(address);
    await page.setBypassCSP(true);
    for (const path of ["/", "/entries/1", "/entries/1/report", "/compare?a=1&b=2", "/new", "/?q=nothing-has-this-name"]) {
      await page.goto(base + path);
      wrong.push(...(await look(page, `${scheme} ${width} ${path}`)).map((line) => `${scheme}, ${width} px, ${path}: ${line}`));
    }
    await page.close();
  }
  const page = await opened(browser, "light", 390);
  await page.setContent('<html><body><img src="data:,"><div style="width:3000px">wide</div><button></button></body></html>');
  const found = (await look(page, "canary")).join();
  for (const fault of ["image-alt", "button-name", "html-has-lang", "px wider"]) {
    if (!found.includes(fault)) wrong.push(`the canary's fault ${fault} was not found: ${found}`);
  }
};

(async () => {
  const flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const browser = await puppeteer.launch({ executablePath: chromium, args: flags, protocolTimeout: 120000 });
  try {
    await looks(browser);
    await withoutScript(browser);
    await live(browser);
  } finally {
    await browser.close();
  }
  wrong.forEach((line) => console.log(`WRONG  ${line}`));
  console.log(wrong.length ? `${wrong.length} things are wrong` : "nothing is wrong");
  process.exit(wrong.length ? 1 : 0);
})().catch((error) => { console.log(error); process.exit(1); });
