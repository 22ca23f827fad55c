/** The page's errors if the engine cannot be loaded, fails or crashes, and its recovery. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { SIZES } from "./browser.ts";
import { counts, link, look, site } from "./flow.ts";

/** A page whose worker script, which contains `page.py`, has a piece replaced. */
async function withWorker(change: (script: string) => string, hash = ""): Promise<Page> {
  const page = await site.page(SIZES.desktop, hash);
  await page.route(/engine\.worker/, async (route) => {
    const response = await route.fetch();
    const [script, changed] = [await response.text(), change(await response.text())];
    assert.notEqual(script, changed);
    await route.fulfill({ response, body: changed });
  });
  await page.reload();
  return page;
}

const FILES = ["engine.worker", "pyodide.asm.wasm", "archspec.tar.zst"];

for (const file of FILES) {
  test(`without ${file} the page reports that it cannot load the engine, and a retry helps`, async () => {
    const page = await site.page(SIZES.desktop);
    await page.route(new RegExp(file), (route) => route.fulfill({ status: 404, body: "" }));
    await page.reload();
    await page.getByRole("alert").filter({ hasText: "cannot load the engine" }).waitFor();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await counts(page, "124,439,808");
    assert.equal(await page.getByRole("alert").count(), 0);
    await page.getByLabel("Class").getByText("GPT2ForSequenceClassification").waitFor({ state: "attached" });
    await page.context().close();
  });
}

test("offline, what needs SymPy says so, and comes with another attempt; counts go on", async () => {
  const page = await site.page(SIZES.desktop);
  await counts(page, "124,439,808");
  await page.context().setOffline(true);
  await look(page, "Formula");
  await page.getByRole("alert").filter({ hasText: "cannot load the engine" }).waitFor();
  await look(page, "Costs");
  await page.locator("#flops").waitFor();
  await look(page, "Formula");
  await page.context().setOffline(false);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator("#formula-value").waitFor();
  await page.context().close();
});

test("where WebAssembly is off, the page says so", async () => {
  const page = await withWorker((script) => `delete self.WebAssembly; ${script}`);
  await page.getByRole("alert").filter({ hasText: "WebAssembly is disabled" }).waitFor();
  await page.context().close();
});

test("a bug is shown with the text of its report, and the engine continues", async () => {
  const page = await withWorker((script) => script.replace("found.counts(", "found.nothing("));
  const said = page.getByRole("alert");
  await said.filter({ hasText: "archspec failed: AttributeError" }).waitFor();
  const text = (await said.textContent()) ?? "";
  assert.match(text, /count \["{\\"name\\":\\"GPT2LMHeadModel\\"}",""\]/);
  assert.doesNotMatch(text, /Traceback/);
  assert.ok(text.length < 600, text);
  await look(page, "Tensors");
  await page.locator(".tensors").waitFor();
  await page.context().close();
});

test("a config of 3,000 brackets is refused, and the engine continues", async () => {
  const page = await site.page(SIZES.desktop);
  await counts(page, "124,439,808");
  await page.getByText("paste or drop one").click();
  const text = page.getByLabel("config.json", { exact: true });
  const said = page.getByRole("alert");
  for (const deep of [
    "[".repeat(3000),
    `{"model_type": "bert", "x": ${"[".repeat(3000)}${"]".repeat(3000)}}`,
  ]) {
    await text.fill(deep);
    await said.filter({ hasText: "nested deeper than 64 levels" }).waitFor();
    await said.filter({ hasText: "remove brackets" }).waitFor();
    assert.equal(await said.filter({ hasText: "archspec fails" }).count(), 0);
    await text.fill('{"model_type": "bert",\n "num_hidden_layers": 2}');
    await counts(page, "38,603,520");
    await said.filter({ hasText: "nested deeper" }).waitFor({ state: "detached" });
  }
  await page.context().close();
});

test("a crashed engine is restarted", async () => {
  const page = await withWorker(
    (script) => script.replace("def tensors(source: str) -> Any:", "$&\\n    raise SystemExit(3)"),
    link({ view: "tensors" }),
  );
  await page.getByRole("alert").filter({ hasText: "the engine crashed and is restarting" }).waitFor();
  await look(page, "Costs");
  await page.locator("#flops").waitFor();
  await page.context().close();
});
