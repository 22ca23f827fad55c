import assert from "node:assert/strict";
import { test } from "node:test";
import { SIZES } from "./browser.ts";
import { counts, flow, look, site } from "./flow.ts";

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

test("an address of another page, or a broken one, shows the page as at first", async () => {
  const page = await site.page(SIZES.desktop, "#source=*!!&view=%7B");
  await counts(page, "124,439,808");
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
    asked.filter((one) => !one.startsWith(`GET ${site.address}`)),
    [],
  );
  await page.context().close();
});
