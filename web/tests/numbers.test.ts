/** The page and the command line agree on counts, FLOPs and formulas of every shipped config. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { SIZES } from "./browser.ts";
import { link, look, site } from "./flow.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const QUANTITIES = [
  "trainable_params",
  "active_params",
  "active_params_without_lookup",
  "embedding_params",
  "non_embedding_params",
  "buffers",
];

type Report = Record<string, number | string>;

/** A verb's JSON report on a config, or its error. */
function commandLine(verb: string, file: string): { report?: Report; refused: string } {
  const python = process.env.PYTHON ?? "python3";
  const line = ["-m", "archspec", verb, join("configs", file), "--json"];
  const { status, stdout, stderr } = spawnSync(python, line, { cwd: ROOT, encoding: "utf8" });
  return status === 0
    ? { report: JSON.parse(stdout), refused: "" }
    : { refused: stderr.split("\n", 1)[0] ?? "" };
}

const written = (value: number | string | undefined) => Number(value).toLocaleString("en-US");

const files = readdirSync(join(ROOT, "configs")).filter((one) => one.endsWith(".json"));
assert.ok(files.length > 30);

async function choose(page: Page, file: string): Promise<void> {
  const name = file.replace(".json", "").replace("--", "/");
  await page.getByRole("combobox", { name: "Model" }).fill(name);
  await page
    .locator("[role=option]", { has: page.getByText(name, { exact: true }) })
    .or(page.getByRole("option", { name }))
    .first()
    .click();
}

const shows = (page: Page, place: string, number: number | string | undefined) =>
  page.locator(place, { hasText: new RegExp(`^${written(number)}$`) }).waitFor();

test(`the counts of ${files.length} shipped configs`, async () => {
  const page = await site.page(SIZES.desktop);
  for (const file of files) {
    const { report } = commandLine("count", file);
    assert.ok(report, file);
    await choose(page, file);
    await shows(page, "#params", report.params);
    assert.equal(await page.locator("h2").textContent(), report.architecture, file);
    for (const quantity of QUANTITIES) {
      assert.equal(
        await page.locator(`[data-count=${quantity}]`).textContent(),
        written(report[quantity]),
        file,
      );
    }
    const bytes = await page.locator("[data-count=bytes]").textContent();
    assert.equal(bytes?.split(" ")[0], written(report.bytes), file);
  }
  await page.context().close();
});

test("the FLOPs, or the error, of shipped configs", async () => {
  const page = await site.page(SIZES.desktop, link({ view: "costs" }));
  for (const file of files) {
    const { report, refused } = commandLine("flops", file);
    await choose(page, file);
    if (report) await shows(page, "#flops", report.flops);
    else await page.getByText(refused).waitFor();
  }
  await page.context().close();
});

test("the values of their formulas", async () => {
  const page = await site.page(SIZES.desktop, link({ view: "formula" }));
  for (const file of files) {
    const { report } = commandLine("count", file);
    await choose(page, file);
    await shows(page, "#formula-value", report?.params);
  }
  await page.context().close();
});

test("numbers that JavaScript would round keep all digits", async () => {
  const gpt2 = (vocab_size: number) => ({
    name: "GPT2LMHeadModel",
    set: { n_embd: 765, n_head: 5, vocab_size },
  });
  const [source, other] = [gpt2(20_000_000_000_001), gpt2(20_000_000_000_002)];
  const params = "15,300,000,085,177,395"; // archspec count GPT2LMHeadModel --set n_embd=765,n_head=5,vocab_size=…
  const page = await site.page(SIZES.desktop, link({ source, other }));
  await page.locator("#params", { hasText: new RegExp(`^${params}$`) }).waitFor();
  await look(page, "Tensors");
  await page.getByText(`149 of 149 tensors, ${params} parameters`).waitFor();
  await look(page, "Formula");
  await page.locator("#formula-value", { hasText: new RegExp(`^${params}$`) }).waitFor();
  await look(page, "Compare");
  await page.getByRole("row", { name: `params ${params} 15,300,000,085,178,160 +765` }).waitFor();
  await page.context().close();
});
