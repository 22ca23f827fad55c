/** Views have no serious axe-core findings in light and dark mode, and fit a phone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { SIZES } from "./browser.ts";
import { counts, link, look, site } from "./flow.ts";

const DONE: Record<string, string> = {
  Count: "#params",
  Knobs: ".idle",
  Tensors: ".tensors",
  Formula: ".katex",
  Costs: "#flops",
  Compare: "[aria-label='configs of that size']",
};
const COMPARED = link({ other: { name: "GPT2Model" }, budget: { quantity: "params", size: "200M" } });

async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`every view (${size}, ${colorScheme})`, async () => {
      const page = await site.page({ ...options, colorScheme }, COMPARED);
      for (const [view, done] of Object.entries(DONE)) {
        await look(page, view);
        await page.locator(done).first().waitFor();
        assert.deepEqual(await findings(page), [], view);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${view} is ${wide} px too wide`);
      }
      await page.getByRole("combobox", { name: "Model", exact: true }).fill("llama");
      await page.getByRole("option").first().waitFor();
      assert.deepEqual(await findings(page), [], "the list of models");
      await page.context().close();
    });
  }
}

test("a narrow phone with the config's field open", async () => {
  const page = await site.page({ ...SIZES.phone, viewport: { width: 320, height: 640 } });
  await page.getByText("paste or drop one").click();
  const file = page.getByLabel("file", { exact: true });
  await file.waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px too wide`);
  const box = await file.boundingBox();
  assert.ok(box && box.x + box.width <= 320, `the file's chooser ends at ${box && box.x + box.width}`);
  await page.context().close();
});

test("what is refused", async () => {
  const source = { text: '{"model_type": "bert",\n"hidden_size": 7}', set: { num_hidden_layers: 1 } };
  const page = await site.page(SIZES.phone, link({ source }));
  await page.getByRole("alert").first().waitFor();
  assert.deepEqual(await findings(page), []);
  await page.evaluate(
    (hash) => {
      location.hash = hash;
    },
    link({ view: "knobs", source: { name: "BertModel" } }),
  );
  await counts(page, "109,482,240");
  await page.getByLabel("hidden_size", { exact: true }).fill("7");
  await page.locator(".knob [role=alert]").waitFor();
  assert.deepEqual(await findings(page), []);
  await page.context().close();
});

test("inputs for images and videos, with an error", async () => {
  const call = { images: ["1024x768", "640y480"], videos: ["16@448x448"], text_tokens: 20 };
  const source = { name: "Qwen2VLForConditionalGeneration" };
  const page = await site.page(
    { ...SIZES.phone, viewport: { width: 320, height: 640 } },
    link({ view: "costs", source, call }),
  );
  await page.getByRole("alert").filter({ hasText: "'640y480' is not WIDTHxHEIGHT" }).waitFor();
  assert.deepEqual(await findings(page), []);
  await page.getByLabel("images", { exact: true }).fill("1024x768");
  await page.getByLabel("images", { exact: true }).press("Enter");
  await page.locator("#model-inputs").waitFor();
  assert.deepEqual(await findings(page), []);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px too wide`);
  await page.context().close();
});
