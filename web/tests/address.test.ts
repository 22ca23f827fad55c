import assert from "node:assert/strict";
import { test } from "node:test";
import { SIZES } from "./browser.ts";
import { counts, flow, followed, link, look, site } from "./flow.ts";

const TEXT = `{"model_type": "bert", "num_hidden_layers": 3, "vocab_size": 1000, "x": "${"é".repeat(200)}"}`;

flow("a link shows the same to someone else", async (page) => {
  await page.getByText("paste or drop one").click();
  await page.getByLabel("config.json", { exact: true }).fill(TEXT);
  await counts(page, "23,018,496");
  await look(page, "Knobs");
  await page.getByLabel("num_hidden_layers", { exact: true }).fill("4");
  await counts(page, "30,106,368");
  await page.waitForURL(/knobs/);
  await page.waitForURL((url) => url.hash.includes("*")); // a value so long that it is compressed
  await page.waitForTimeout(600); // the last turn of the knob is written, too
  const { hash } = new URL(page.url());
  assert.ok(hash.length < 400, hash);
  const other = await site.page(SIZES.desktop, hash);
  await counts(other, "30,106,368");
  assert.equal(await other.getByLabel("num_hidden_layers", { exact: true }).inputValue(), "4");
  assert.equal(await other.getByLabel("config.json", { exact: true }).inputValue(), TEXT);
  await other.context().close();
});

flow("back and forward lead through models and views, not through each turn of a knob", async (page) => {
  await counts(page, "124,439,808");
  await look(page, "Knobs");
  await page.waitForURL(/knobs/);
  await page.getByLabel("n_layer", { exact: true }).fill("2");
  await page.waitForURL(/n_layer/);
  await look(page, "Tensors");
  await page.waitForURL(/tensors/);
  await page.goBack();
  await counts(page, "53,561,088");
  await page.goBack();
  await page.getByRole("heading", { name: "Notes" }).waitFor();
  await counts(page, "124,439,808");
  await page.goForward();
  await counts(page, "53,561,088");
});

const MODEL = { name: "BertModel" };
const OTHER_SHAPES: [named: string, shown: string, hash: string][] = [
  ["source", "#params", "#source=*!!"],
  ["source", "#params", "#source=*q1YqSVWyUipJLS5R"], // cut off
  ["source", "#params", link({ source: 7 })],
  ["source", "#params", link({ source: {} })],
  ["source", "#params", link({ source: { name: 3 } })],
  ["source", "#params", link({ source: { name: "BertModel", text: "{}" } })],
  ["source", "#params", link({ source: { ...MODEL, set: [] } })],
  ["view", "#params", link({ view: "x" })],
  ["view", "#params", "#view=tensors"],
  ["call", "#flops", link({ view: "costs", call: { batch: "x" } })],
  ["call", "#flops", link({ view: "costs", call: { batch: 1.5 } })],
  ["training", "#flops", link({ view: "costs", training: { optimizer: null } })],
  ["training", "#flops", link({ view: "costs", training: { unknown: 1 } })],
  ["accelerator", "#flops", link({ view: "costs", accelerator: 7 })],
  ["other", "#counted", link({ view: "compare", other: [] })],
  ["plot", "#counted", link({ view: "compare", plot: { quantity: "toString", field: "n_embd" } })],
  ["plot", "#counted", link({ view: "compare", plot: { quantity: "params", field: "n_embd", step: 0 } })],
  ["budget", "#counted", link({ view: "compare", budget: { quantity: "x", size: "1B" } })],
  ["formula", "#formula-value", link({ view: "formula", formula: { by: 1 } })],
  ["formula", "#formula-value", link({ view: "formula", formula: { assume: [1] } })],
  ["filter", ".tensors", link({ view: "tensors", filter: 7 })],
];

test("invalid values of a link are ignored with a warning", async () => {
  const page = await site.page(SIZES.desktop);
  for (const [named, shown, hash] of OTHER_SHAPES) {
    await followed(page, link({ source: MODEL, filter: "bert" }));
    await counts(page, "109,482,240");
    await page.getByRole("alert").waitFor({ state: "hidden" });
    await followed(page, hash);
    const said = page.getByRole("alert").filter({ hasText: `${named} could not be read` });
    await said.waitFor().catch(() => assert.fail(`no warning for ${hash}`));
    await page.locator(shown).first().waitFor();
    assert.equal(await page.getByRole("alert").count(), 1, hash);
  }
  await page.context().close();
});

test("entries missing in an older link get their initial values", async () => {
  const page = await site.page(SIZES.desktop, link({ view: "costs", call: { tokens: 16 }, training: {} }));
  await page.locator("#flops").waitFor();
  assert.equal(await page.getByLabel("tokens", { exact: true }).inputValue(), "16");
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.context().close();
});

test("the open page follows a link, and back returns", async () => {
  const page = await site.page(SIZES.desktop);
  await counts(page, "124,439,808");
  await followed(page, link({ source: MODEL }));
  await counts(page, "109,482,240");
  await followed(page, link({ source: { ...MODEL, set: { num_hidden_layers: 1 } }, view: "tensors" }));
  await page.locator(".tensors").getByText("encoder.layer.0.output.dense.weight").waitFor();
  await page.goBack();
  await counts(page, "109,482,240");
  await page.reload();
  await counts(page, "109,482,240");
  await page.goBack();
  await counts(page, "124,439,808");
  await page.context().close();
});

test("a link holds a config of 100 kB; the page and the link warn about longer ones", async () => {
  const page = await site.page(SIZES.desktop);
  const labels = Object.fromEntries(
    Array.from({ length: 3000 }, (_, rank) => [rank, `LABEL_${rank} of many`]),
  );
  await page.getByText("paste or drop one").click();
  const field = page.getByLabel("config.json", { exact: true });
  await field.fill(JSON.stringify({ model_type: "bert", num_hidden_layers: 1, id2label: labels }));
  await counts(page, "31,515,648");
  await page.waitForURL((url) => url.hash.includes("*"));
  const { hash } = new URL(page.url());
  assert.ok(hash.length < 40_000, `${hash.length}`);
  await followed(page, "#");
  await counts(page, "124,439,808");
  await followed(page, hash);
  await counts(page, "31,515,648");
  const noise = Array.from({ length: 200_000 }, () => Math.random().toString(36)[4]).join("");
  await field.fill(JSON.stringify({ model_type: "bert", num_hidden_layers: 2, noise }));
  await counts(page, "38,603,520");
  await page.getByRole("status").filter({ hasText: "Too long for a link: source" }).waitFor();
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "source could not be read" }).waitFor();
  await page.context().close();
});

test("nothing is sent anywhere", async () => {
  const page = await site.page(SIZES.desktop);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
  await page.reload();
  await counts(page, "124,439,808");
  await look(page, "Formula");
  await page.locator("#formula-value").waitFor();
  assert.ok(asked.length > 5);
  assert.deepEqual(
    asked.filter((one) => !/^(GET|HEAD) /.test(one) || one.split(" ")[1]?.startsWith(site.address) !== true),
    [],
  );
  await page.context().close();
});
