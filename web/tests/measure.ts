/**
 * Times in the browser, in milliseconds, as JSON: `node .tests/measure.js ROUNDS`, which benchmarks/bench_page.py does.
 * A cold visit has a new context, a warm one reuses it; bare.html runs Pyodide like the page.
 */
import type { Page } from "playwright-core";
import { Site } from "./browser.ts";

const BARE_WORKER = `
  import { loadPyodide } from "./engine/pyodide.js";
  const python = await loadPyodide({ indexURL: new URL("engine/", location.href).href });
  postMessage(python.runPython("1 + 1"));`;
const BARE_PAGE = `<!doctype html><title>bare</title><output></output><script type="module">
  const worker = new Worker("bare.js", { type: "module" });
  worker.onmessage = () => { document.querySelector("output").id = "sum"; };
</script>`;
const FILES = {
  "/empty.html": "<!doctype html><title>empty</title>empty",
  "/bare.html": BARE_PAGE,
  "/bare.js": BARE_WORKER,
};
const SHOWN = { bare: "#sum", count: "#params", formula: ".display .katex" };
const KNOBS: Record<string, string> = {
  GPT2LMHeadModel: "n_layer",
  LlamaForCausalLM: "num_hidden_layers",
  MixtralForCausalLM: "num_hidden_layers",
  DeepseekV3ForCausalLM: "num_hidden_layers",
};
const TURNS = 20;

const site = await Site.opened(FILES);

/** Marks when an element first appears; runs in the page, before its scripts. */
function watched(shown: Record<string, string>): void {
  new MutationObserver(() => {
    for (const [name, selector] of Object.entries(shown)) {
      const isNew = performance.getEntriesByName(name).length === 0;
      if (isNew && document.querySelector(selector)) performance.mark(name);
    }
  }).observe(document, { childList: true, subtree: true, attributes: true });
}

async function visits(): Promise<(path: string) => Promise<Page>> {
  const context = await site.context();
  await context.addInitScript(watched, SHOWN);
  return async (path) => {
    const page = await context.newPage();
    await page.goto(site.address + path);
    return page;
  };
}

async function time(page: Page, name: string): Promise<number> {
  await page.waitForFunction((name) => performance.getEntriesByName(name).length > 0, name);
  return page.evaluate((name) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN, name);
}

const paint = (page: Page) => time(page, "first-contentful-paint");

async function formulaAfterCount(page: Page): Promise<number> {
  const asked = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll<HTMLElement>("nav button")];
    buttons.find((one) => one.textContent === "Formula")?.click();
    return performance.now();
  });
  return (await time(page, "formula")) - asked;
}

async function round(): Promise<Record<string, number>> {
  const empty = await (await visits())("empty.html");
  const bare = await (await visits())("bare.html");
  const found = { empty: await paint(empty), bare: await time(bare, "bare") };
  const visit = await visits();
  const cold = await visit("");
  const first = { paint: await paint(cold), count: await time(cold, "count") };
  const formula = await formulaAfterCount(cold);
  await cold.close();
  const warm = await visit("");
  const again = { warm_paint: await paint(warm), warm_count: await time(warm, "count") };
  const linked = await (await visits())('#view="formula"');
  const link = await time(linked, "formula");
  for (const page of [empty, bare, warm, linked]) await page.context().close();
  return { ...found, ...first, formula, ...again, link };
}

/** The time from a change of a field to the new count; runs in the page. */
async function turned({ field, turns }: { field: string; turns: number }): Promise<[string, number][]> {
  const params = document.querySelector("#params") as HTMLElement;
  const knob = document.getElementById(`knob-${field}`) as HTMLInputElement;
  const found: [string, number][] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const before = params.textContent;
    const changed = new Promise<number>((resolve) => {
      const observer = new MutationObserver(() => {
        if (params.textContent === before) return;
        observer.disconnect();
        resolve(performance.now());
      });
      observer.observe(params, { childList: true, characterData: true, subtree: true });
    });
    const start = performance.now();
    knob.value = String(Number(knob.value) + 1);
    knob.dispatchEvent(new Event("input", { bubbles: true }));
    const ms = (await changed) - start;
    found.push([params.textContent ?? "", ms]);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return found;
}

async function knobs(name: string, field: string): Promise<{ params: number[]; ms: number[] }> {
  const hash = new URLSearchParams({ view: '"knobs"', source: JSON.stringify({ name }) });
  const page = await (await visits())(`#${hash}`);
  await page.locator(".idle").waitFor();
  const found = await page.evaluate(turned, { field, turns: TURNS });
  await page.context().close();
  return { params: found.map(([text]) => Number(text.replaceAll(",", ""))), ms: found.map(([, ms]) => ms) };
}

const rounds = [];
for (let left = Number(process.argv[2]); left > 0; left -= 1) rounds.push(await round());
const turns: Record<string, unknown> = {};
for (const [name, field] of Object.entries(KNOBS)) turns[name] = { field, ...(await knobs(name, field)) };
await site.close();
console.log(JSON.stringify({ rounds, turns }));
