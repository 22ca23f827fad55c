import assert from "node:assert/strict";
import type { Page, Route } from "playwright-core";
import { counts, flow } from "./flow.ts";

const HUB = "https://huggingface.co/**";

async function fetched(page: Page, id: string, given: (route: Route) => Promise<void>): Promise<void> {
  await page.unroute(HUB);
  await page.route(HUB, given);
  await page.getByLabel("Hub id").fill(id);
  await page.getByRole("button", { name: "Fetch" }).click();
}

flow("a class is found by its name, with the keyboard alone", async (page) => {
  const field = page.getByRole("combobox", { name: "Model" });
  await field.focus();
  await field.pressSequentially("bert masked");
  const option = page.getByRole("option", { name: "BertForMaskedLM bert", exact: true });
  await option.waitFor();
  const chosen = await option.getAttribute("id");
  for (let step = 0; step < 20; step++) {
    if ((await field.getAttribute("aria-activedescendant")) === chosen) break;
    await field.press("ArrowDown");
  }
  assert.equal(await option.getAttribute("aria-selected"), "true");
  await field.press("Enter");
  await counts(page, "109,514,298");
  assert.equal(await field.getAttribute("aria-expanded"), "false");
});

flow("another class of the model type is chosen beside it", async (page) => {
  await counts(page, "124,439,808");
  await page.getByLabel("Class").selectOption("GPT2ForSequenceClassification");
  await counts(page, "124,441,344");
});

flow("a shipped checkpoint is found, and its config shown", async (page) => {
  await page.getByRole("combobox", { name: "Model" }).fill("pythia-14m");
  await page.getByRole("option", { name: /pythia-14m/ }).click();
  await counts(page, "14,067,712");
  await page.getByText("paste or drop one").click();
  assert.match(await page.getByLabel("config.json", { exact: true }).inputValue(), /"gpt_neox"/);
});

flow("a pasted config is counted, or refused with line and caret", async (page) => {
  await page.getByText("paste or drop one").click();
  const text = page.getByLabel("config.json", { exact: true });
  await text.fill('{"model_type": "bert",\n "num_hidden_layers": 2}');
  await counts(page, "38,603,520");
  await text.fill('{"model_type": "bert",\n "hidden_size": "wide"}');
  const told = page.getByRole("alert").filter({ hasText: "line 2, column 2" });
  assert.match((await told.locator("pre").textContent()) ?? "", /^ "hidden_size": "wide"}\n \^{13}$/);
  assert.match((await told.textContent()) ?? "", /the text 'wide' is not int/);
  await text.fill('{"model_type": "bert",\n "hidden_size": }');
  await page.getByRole("alert").filter({ hasText: "not JSON" }).waitFor();
});

flow("a config.json that is dropped is counted as what it says", async (page) => {
  await counts(page, "124,439,808");
  const data = await page.evaluateHandle(() => {
    const held = new DataTransfer();
    held.items.add(new File(['{"model_type": "gpt2", "n_layer": 1}'], "config.json"));
    return held;
  });
  await page.locator(".chooser").dispatchEvent("drop", { dataTransfer: data });
  await counts(page, "46,473,216");
  await page.getByLabel("Class").selectOption("GPT2LMHeadModel");
  await page.getByRole("heading", { name: "GPT2LMHeadModel" }).waitFor();
});

flow("a hub id is fetched by the browser, and what the hub refuses is said", async (page) => {
  await fetched(page, "someone/small", (route) => route.fulfill({ body: '{"model_type": "bert"}' }));
  await counts(page, "109,482,240");
  const told = page.getByRole("alert");
  await fetched(page, "someone/private", (route) => route.fulfill({ status: 401 }));
  await told.filter({ hasText: "private or gated" }).waitFor();
  await fetched(page, "https://huggingface.co/someone/gone/tree/main", (route) =>
    route.fulfill({ status: 404 }),
  );
  await told.filter({ hasText: "someone/gone: the repository has no config.json" }).waitFor();
  await fetched(page, "someone/offline", (route) => route.abort());
  await told.filter({ hasText: "someone/offline: the hub gives this page no answer" }).waitFor();
  await fetched(page, "no id", (route) => route.abort());
  await told.filter({ hasText: "no id is no hub id" }).waitFor();
  await counts(page, "109,482,240");
});
