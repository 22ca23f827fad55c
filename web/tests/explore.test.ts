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

flow("what is chosen stands in the field, and typing replaces it", async (page) => {
  await counts(page, "124,439,808");
  const field = page.getByRole("combobox", { name: "Model" });
  assert.equal(await field.inputValue(), "GPT2LMHeadModel");
  await field.click();
  await page.getByRole("option", { name: "google-bert/bert-base-uncased bert" }).waitFor();
  await page.keyboard.type("pythia 14m");
  await page.keyboard.press("Escape");
  assert.equal(await field.inputValue(), "GPT2LMHeadModel");
  await page.keyboard.type("pythia 14m");
  await page.keyboard.press("Enter");
  await counts(page, "14,067,712");
  assert.equal(await field.inputValue(), "EleutherAI/pythia-14m");
});

flow("families are listed, and lead to their classes", async (page) => {
  const field = page.getByRole("combobox", { name: "Model" });
  await field.click();
  await page
    .getByRole("group", { name: /^families/ })
    .getByRole("option", { name: /^mamba / })
    .click();
  assert.equal(await field.inputValue(), "mamba");
  await page.getByRole("option", { name: "MambaForCausalLM mamba", exact: true }).click();
  await page.getByRole("heading", { name: "MambaForCausalLM" }).waitFor();
});

flow("a checkpoint that is not shipped is fetched from the hub, by its name or its address", async (page) => {
  await page.route(HUB, (route) => route.fulfill({ body: '{"model_type": "bert", "num_hidden_layers": 2}' }));
  const field = page.getByRole("combobox", { name: "Model" });
  await field.fill("qwen3 30b a3b");
  await page.getByRole("option", { name: /^Qwen\/Qwen3-30B-A3B / }).click();
  await counts(page, "38,603,520");
  assert.equal(await field.inputValue(), "Qwen/Qwen3-30B-A3B");
  const asked = page.waitForRequest("https://huggingface.co/someone/small/resolve/v2/part/config.json");
  await field.fill("huggingface.co/someone/small/tree/v2/part");
  await field.press("Enter");
  await asked;
  await page.waitForURL(/someone/);
  assert.equal(await field.inputValue(), "someone/small @ v2 / part/config.json");
  await field.fill("bert zzz");
  await page.getByText("nothing matches zzz").waitFor();
  await page.getByRole("option", { name: "BertModel bert", exact: true }).waitFor();
});

flow("a config of unknown code is counted as the class that is chosen", async (page) => {
  await page.getByText("paste or drop one").click();
  await page.getByLabel("config.json", { exact: true }).fill('{"hidden_size": 2048}');
  await page.getByText('write "model_type": "llama" in the config').waitFor();
  const text = '{"model_type": "foo", "auto_map": {"AutoModel": "foo.Foo"}, "num_hidden_layers": 2}';
  await page.getByLabel("config.json", { exact: true }).fill(text);
  const alert = page.getByRole("alert").filter({ hasText: "foo is custom code" });
  assert.match((await alert.textContent()) ?? "", /choose the class to count it as$/);
  await page.getByLabel("Class").selectOption("BertForMaskedLM");
  await page.getByRole("heading", { name: "BertForMaskedLM" }).waitFor();
});

flow("chooses another class of the model type", async (page) => {
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
  const alert = page.getByRole("alert").filter({ hasText: "line 2, column 2" });
  assert.match((await alert.locator("pre").textContent()) ?? "", /^ "hidden_size": "wide"}\n \^{13}$/);
  assert.match((await alert.textContent()) ?? "", /hidden_size must be an integer, not the string 'wide'/);
  await text.fill('{"model_type": "bert",\n "hidden_size": }');
  await page.getByRole("alert").filter({ hasText: "invalid JSON" }).waitFor();
});

flow("a config.json that is dropped is counted as what it says", async (page) => {
  await counts(page, "124,439,808");
  const data = await page.evaluateHandle(() => {
    const held = new DataTransfer();
    held.items.add(new File(['{"model_type": "gpt2", "n_layer": 1}'], "config.json"));
    return held;
  });
  await page.locator("main").dispatchEvent("drop", { dataTransfer: data });
  await counts(page, "46,473,216");
  await page.getByLabel("Class").selectOption("GPT2LMHeadModel");
  await page.getByRole("heading", { name: "GPT2LMHeadModel" }).waitFor();
});

flow("opens a file, and refuses one that is not a config", async (page) => {
  await page.getByText("paste or drop one").click();
  const file = page.getByLabel("file", { exact: true });
  const given = (name: string, text: string) =>
    file.setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
  await given("config.json", '{"model_type": "gpt2", "n_layer": 1}');
  await counts(page, "46,473,216");
  await given("model.safetensors", " ".repeat(2 ** 21));
  await page.getByRole("alert").filter({ hasText: "not a config.json: it has 2.0 MiB" }).waitFor();
  await counts(page, "46,473,216");
});

flow("fetches a hub id, and shows errors of the hub", async (page) => {
  await fetched(page, "someone/small", (route) => route.fulfill({ body: '{"model_type": "bert"}' }));
  await counts(page, "109,482,240");
  const alert = page.getByRole("alert");
  await fetched(page, "someone/private", (route) => route.fulfill({ status: 401 }));
  await alert.filter({ hasText: "private or gated" }).waitFor();
  await fetched(page, "https://huggingface.co/someone/gone/tree/main", (route) =>
    route.fulfill({ status: 404 }),
  );
  await alert.filter({ hasText: "someone/gone: the repository does not contain this config.json" }).waitFor();
  await fetched(page, "someone/offline", (route) => route.abort());
  await alert.filter({ hasText: "someone/offline: the hub does not respond" }).waitFor();
  await fetched(page, "no id", (route) => route.abort());
  await alert.filter({ hasText: "'no id' is not the hub id" }).waitFor();
  await counts(page, "109,482,240");
});
