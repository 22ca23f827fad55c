import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { flow, link } from "./flow.ts";

const formula = link({ view: "formula", source: { name: "GPT2Model" } });

async function copied(page: Page, format: string): Promise<string> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: `Copy ${format}` }).click();
  await page.getByText(`${format} copied`).waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

flow(
  "the formula is set, its symbols and assumptions are said, and it is copied",
  async (page) => {
    await page.locator("#formula-value", { hasText: "124,439,808" }).waitFor();
    await page.locator(".display .katex").first().waitFor();
    assert.equal(await page.locator(".katex-error").count(), 0);
    const width = page.getByRole("row", { name: /n_embd/ });
    assert.match((await width.textContent()) ?? "", /768model width$/);
    await page.getByText("n_embd % n_head == 0").waitFor();
    assert.match(await copied(page, "LaTeX"), /^\\begin\{equation\*\}\n {2}N_/);
    assert.match(await copied(page, "Python"), /^params = n_layer\*\(4\*n_embd\*\*2/);
    assert.match(await copied(page, "Markdown"), /^\$L \(4 d\^2/);
  },
  formula,
);

flow(
  "it is arranged by component and by module, and copied so",
  async (page) => {
    await page.getByRole("combobox", { name: "By" }).selectOption("component");
    await page.locator(".parts li", { hasText: "attention" }).waitFor();
    const shown = await page.locator(".parts .number").allTextContents();
    const values = shown.map((one) => Number(one.split(" ")[0]?.replaceAll(",", "")));
    assert.equal(
      values.reduce((sum, one) => sum + one, 0),
      124_439_808,
    );
    assert.match(await copied(page, "Python"), /^feed_forward = n_layer/m);
    await page.getByRole("combobox", { name: "By" }).selectOption("module");
    await page.getByLabel("Depth").fill("3");
    await page.locator(".parts li", { hasText: "h.{i}.attn" }).waitFor();
  },
  formula,
);

flow(
  "leading terms, and assumptions; one that cannot be read is refused",
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
    await page.getByRole("alert").filter({ hasText: "nothing" }).waitFor();
  },
  formula,
);
