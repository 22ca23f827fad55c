import assert from "node:assert/strict";
import { counts, flow, link, look } from "./flow.ts";

flow("bytes follow the dtype, and notes name tied tensors", async (page) => {
  await counts(page, "124,439,808");
  await page.getByLabel("bytes in").selectOption("bfloat16");
  await page.locator("[data-count=bytes]", { hasText: "248,879,616 (237.4 MiB)" }).waitFor();
  await page.getByText("lm_head.weight is tied to transformer.wte.weight").waitFor();
});

flow("modules fold and unfold, with shares", async (page) => {
  const block = page.locator("summary", { hasText: "12 × GPT2Block" });
  await block.waitFor();
  const mlp = page.locator(".modules", { hasText: "GPT2MLP" });
  assert.equal(await mlp.count(), 0);
  await block.focus();
  await page.keyboard.press("Enter");
  await mlp.waitFor();
  assert.match((await block.textContent()) ?? "", /85,054,464\s*68\.35%/);
});

flow("arrow keys move through the plot, and the caption follows", async (page) => {
  const picture = page.getByRole("tree", { name: "parameters by module" });
  await picture.focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  const caption = page.locator("figcaption");
  assert.match(
    (await caption.textContent()) ?? "",
    /^transformer\.h: ModuleList, 85,054,464 parameters \(68\.35%\)/,
  );
  await page.getByRole("treeitem", { name: /^wte, transformer\.wte/ }).hover();
  assert.match((await caption.textContent()) ?? "", /^transformer\.wte: Embedding\(50257, 768\), 38,597,376/);
});

flow("the caption gives the sum of repeated layers and the size of each", async (page) => {
  const name =
    "c_attn, transformer.h.0-11.attn.c_attn: Conv1D(nf=2304, nx=768), 21,261,312 parameters (17.09%), 12 of 1,771,776 parameters each";
  await page.getByRole("treeitem", { name, exact: true }).hover();
  assert.equal(`c_attn, ${await page.locator("figcaption").textContent()}`, name);
});

flow(
  "layers that repeat within others that do are counted in all of these",
  async (page) => {
    // archspec count FunnelModel: three blocks of four layers
    await page
      .getByRole("treeitem", { name: /^0-3 × 4, encoder\.blocks\.0-2\.0-3: .*, 12 of .* parameters each$/ })
      .waitFor();
  },
  link({ source: { name: "FunnelModel" } }),
);

flow(
  "of many tensors more are shown when asked for",
  async (page) => {
    await page
      .getByText("967 of 967 tensors, 671,026,404,352 parameters, 14,848 elements of buffers")
      .waitFor();
    assert.equal(await page.locator("tbody tr").count(), 400);
    await page.getByRole("button", { name: "400 more" }).click();
    await page.getByText("the first 800").waitFor();
    assert.equal(await page.locator("tbody tr").count(), 800);
  },
  link({ view: "tensors", source: { name: "DeepseekV3ForCausalLM" } }),
);

flow("tensors are filtered by words", async (page) => {
  await look(page, "Tensors");
  await page.getByText("149 of 149 tensors").waitFor();
  await page.getByLabel("Filter").fill("mlp bias 3072");
  await page.getByText("12 of 149 tensors, 36,864 parameters").waitFor();
  await page.getByLabel("Filter").fill("tied");
  assert.match(
    (await page.locator("tbody tr").textContent()) ?? "",
    /^lm_head\.weight tied to transformer\.wte\.weight/,
  );
});
