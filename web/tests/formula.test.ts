import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import type { Page } from "playwright-core";
import { flow, link } from "./flow.ts";

const formula = link({ view: "formula", source: { name: "GPT2Model" } });

async function copied(page: Page, format: string): Promise<string> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: `Copy ${format}`, exact: true }).click();
  await page.getByText(`${format} copied`, { exact: true }).waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Runs a copied Python program and returns its output. */
function run(program: string): number {
  const python = process.env.PYTHON ?? "python3";
  return Number(execFileSync(python, ["-c", `${program}\nprint(params)`], { encoding: "utf8" }));
}

flow(
  "shows the formula with its symbols and assumptions, and copies it",
  async (page) => {
    await page.locator("#formula-value", { hasText: "124,439,808" }).waitFor();
    await page.locator(".display .katex").first().waitFor();
    assert.equal(await page.locator(".katex-error").count(), 0);
    const width = page.getByRole("row", { name: /n_embd/ });
    assert.match((await width.textContent()) ?? "", /768model width$/);
    await page.getByText("n_embd % n_head == 0").waitFor();
    assert.match(await copied(page, "LaTeX"), /^\\begin\{equation\*\}\n {2}N_/);
    assert.match(await copied(page, "LaTeX document"), /^\\documentclass[\s\S]*\\texttt\{n\\_embd\} & 768/);
    const program = await copied(page, "Python");
    assert.match(
      program,
      /^params = \(\n# params of GPT2Model; ValueError[\s\S]*: n_layer\*\(4\*n_embd\*\*2/m,
    );
    assert.equal(run(program), 124_439_808);
    assert.throws(() => run(program.replace("n_head = 12", "n_head = 7")), /ValueError/); // 7 does not divide n_embd
    assert.match(await copied(page, "Markdown"), /^\$L \(4 d\^2/);
  },
  formula,
);

flow(
  "groups by component and by module, and copies the groups",
  async (page) => {
    await page.getByRole("combobox", { name: "By" }).selectOption("component");
    await page.locator(".parts li", { hasText: "attention" }).waitFor();
    const shown = await page.locator(".parts .number").allTextContents();
    const values = shown.map((one) => Number(one.split(" ")[0]?.replaceAll(",", "")));
    assert.equal(
      values.reduce((sum, one) => sum + one, 0),
      124_439_808,
    );
    const program = await copied(page, "Python");
    assert.match(program, /^feed_forward = \([\s\S]*?: n_layer\*/m);
    assert.equal(run(program), 124_439_808);
    await page.getByRole("combobox", { name: "By" }).selectOption("module");
    await page.getByLabel("Depth").fill("3");
    await page.locator(".parts li", { hasText: "h.{i}.attn" }).waitFor();
  },
  formula,
);

flow(
  "copied Python runs if its conditions read values that are not integers",
  async (page) => {
    await page.locator("#formula-value", { hasText: "60,506,624" }).waitFor();
    const program = await copied(page, "Python");
    assert.match(program, /^is_gated_act = False$/m);
    assert.equal(run(program), 60_506_624); // archspec count T5ForConditionalGeneration
  },
  link({ view: "formula", source: { name: "T5ForConditionalGeneration" } }),
);

flow(
  "leading terms and assumptions; an invalid assumption is refused",
  async (page) => {
    const assume = page.getByLabel("Assume");
    await assume.fill("n_inner = 4*n_embd");
    await assume.press("Enter");
    await page.getByRole("switch", { name: "Leading terms only" }).check();
    await page.getByText("≈ 123,532,032, exactly 124,439,808").waitFor();
    await page.getByLabel("n_layer", { exact: true }).check();
    await page.getByText("growing: n_layer").waitFor();
    await assume.fill("n_inner = 4*nothing");
    await assume.press("Enter");
    const refused = page
      .getByRole("alert")
      .filter({ hasText: "nothing is not a numeric field of this config" });
    assert.match(
      (await refused.locator("pre").textContent()) ?? "",
      /^n_inner = 4\*nothing\nn_inner = 4\*\^{7}$/,
    );
  },
  formula,
);

flow(
  "a growing field that the model lacks is refused and can be unticked",
  async (page) => {
    await page
      .getByRole("alert")
      .filter({ hasText: "the formula does not depend on intermediate_size" })
      .waitFor();
    await page.getByLabel("intermediate_size", { exact: true }).click(); // it disappears
    await page.getByText("growing: n_layer").waitFor();
    assert.equal(await page.getByLabel("intermediate_size", { exact: true }).count(), 0);
    await page.getByLabel("n_embd", { exact: true }).waitFor();
  },
  link({
    view: "formula",
    source: { name: "GPT2Model" },
    formula: { leading: true, growing: ["n_layer", "intermediate_size"] },
  }),
);

flow(
  "long field names stay within the page",
  async (page) => {
    await page.locator("#formula-value", { hasText: "7,818,517,072" }).waitFor();
    await page.locator(".legend .katex").first().waitFor();
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  },
  link({ view: "formula", source: { name: "Gemma3nForConditionalGeneration" } }),
);
