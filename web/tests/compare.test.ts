/** Compare: two models as in `archspec diff`, and a quantity over fields. */
import assert from "node:assert/strict";
import { flow, link } from "./flow.ts";

const LLAMA = { view: "compare", source: { name: "LlamaForCausalLM" } };
const PLOT = { quantity: "params", first: 1, last: 8, step: 1, other: "", values: "", log: false };
const LAYERS = { ...PLOT, field: "num_hidden_layers" };

flow(
  "a second model is searched for, and compared by module",
  async (page) => {
    await page.getByRole("combobox", { name: "Model B" }).fill("MistralForCausalLM");
    await page.getByRole("option", { name: "MistralForCausalLM" }).first().click();
    await page.getByText("+503,316,480").first().waitFor(); // archspec diff LlamaForCausalLM MistralForCausalLM
    await page.getByRole("cell", { name: "model.layers.*.self_attn.k_proj" }).waitFor();
    await page.getByText("8 points", { exact: true }).waitFor();
    await page.getByLabel("also B").check();
    await page.getByText("16 points", { exact: true }).waitFor();
    await page.getByText("as a table").click();
    // archspec count … --set num_hidden_layers=8, of each
    await page.getByRole("row", { name: "8 1,881,214,976 2,007,044,096" }).waitFor();
    await page.getByText("CSV", { exact: true }).click();
    const csv = (await page.locator("[data-format=CSV]").textContent()) ?? "";
    assert.match(csv, /^num_hidden_layers,A: parameters,B: parameters\n1,/);
    assert.match(csv, /\n8,1881214976,2007044096$/);
  },
  link({ ...LLAMA, plot: LAYERS }),
);

flow(
  "a second model is fetched from the hub, with errors next to it",
  async (page) => {
    await page.route("https://huggingface.co/**", (route) =>
      route.request().url().includes("/small/")
        ? route.fulfill({ body: '{"model_type": "llama", "num_hidden_layers": 31}' })
        : route.fulfill({ status: 404 }),
    );
    const second = page.getByRole("combobox", { name: "Model B" });
    await second.fill("someone/small");
    await second.press("Enter");
    // archspec diff LlamaForCausalLM LlamaForCausalLM --set-b num_hidden_layers=31
    await page.getByText("-202,383,360").first().waitFor();
    assert.equal(await second.inputValue(), "someone/small");
    await second.fill("someone/gone");
    await second.press("Enter");
    await page
      .getByRole("alert")
      .filter({ hasText: "someone/gone: the repository does not contain" })
      .waitFor();
  },
  link(LLAMA),
);

flow(
  "the same model with a field overridden, and the closed form of the change",
  async (page) => {
    await page.getByRole("button", { name: "the same as A" }).click();
    await page.getByText("no difference: the same tensors").waitFor();
    assert.equal(await page.getByLabel("largest first").count(), 0);
    await page.getByLabel("field of B").fill("num_key_value_heads");
    await page.getByLabel("its value").fill("8");
    await page.getByLabel("its value").press("Enter");
    await page.getByText("-402,653,184").first().waitFor();
    await page.getByText("LlamaForCausalLM and LlamaForCausalLM at num_key_value_heads = 8").waitFor();
    await page.getByLabel("closed forms").check();
    await page.getByText("A.num_key_value_heads - B.num_key_value_heads").first().waitFor();
    await page.getByRole("button", { name: "reset num_key_value_heads" }).click();
    await page.getByText("no difference: the same tensors").waitFor();
  },
  link({ ...LLAMA, plot: LAYERS }),
);

flow(
  "an error of one side is shown, with line and caret",
  async (page) => {
    await page.getByText("line 3").waitFor();
    await page.getByText("^^^").waitFor();
  },
  link({
    ...LLAMA,
    plot: LAYERS,
    other: { text: '{\n  "model_type": "llama",\n  "hidden_size": "wide"\n}' },
  }),
);

flow(
  "refused points leave gaps, and are reported",
  async (page) => {
    await page.getByText(/^32 points, \d+ of them refused:$/).waitFor();
    await page.getByText("as a table").click();
    assert.ok((await page.getByRole("cell", { name: "refused" }).count()) > 10);
    await page.getByText(/hidden_size % num_attention_heads == 0` \(\d+ points\)/).waitFor();
  },
  link({
    view: "compare",
    source: { name: "BertModel" },
    plot: { ...PLOT, field: "num_attention_heads", last: 32 },
  }),
);

flow(
  "costs with one curve per value of another field",
  async (page) => {
    await page.getByText("16 points", { exact: true }).waitFor();
    await page.getByText("as a table").click();
    // archspec cache LlamaForCausalLM --set num_hidden_layers=8,num_key_value_heads=8
    await page.getByRole("row", { name: "8 134,217,728 536,870,912" }).waitFor();
  },
  link({
    ...LLAMA,
    plot: { ...LAYERS, quantity: "cache_bytes", other: "num_key_value_heads", values: "8, 32" },
  }),
);

flow(
  "FLOPs that eager code spends in addition are noted",
  async (page) => {
    await page.getByText("269,007,022,063,616").waitFor(); // archspec diff … --tokens 1 --past 131071
    await page.getByText("A: transformers' eager code uses 369 times as many FLOPs as expected").waitFor();
  },
  link({
    view: "compare",
    source: { name: "DeepseekV3ForCausalLM" },
    other: { name: "MixtralForCausalLM" },
    call: {
      batch: 1,
      tokens: 1,
      past: 131071,
      encoder_tokens: null,
      dtype: null,
      weights: null,
      last: false,
    },
    plot: LAYERS,
  }),
);

flow(
  "finds configs of another size in the model's proportions and compares one",
  async (page) => {
    await page.getByLabel("size", { exact: true }).fill("7b");
    await page.getByLabel("size", { exact: true }).press("Enter");
    // archspec solve LlamaForCausalLM --params 7b
    await page.getByRole("row", { name: "1 4,096 32 32 11,520 6,939,742,208 0.861%" }).waitFor();
    await page.getByRole("button", { name: "compare it, as B" }).click();
    await page.getByText("+201,326,592").first().waitFor();
    await page.getByRole("combobox", { name: "rank" }).selectOption("2");
    await page.getByRole("button", { name: "look at it, as A" }).click();
    await page.getByText("rank 2 (LlamaForCausalLM) and rank 1 (LlamaForCausalLM)").waitFor();
    await page.getByLabel("size", { exact: true }).fill("seven");
    await page.getByLabel("size", { exact: true }).press("Enter");
    await page.getByRole("alert").getByText("seven is not a number of parameters").waitFor();
  },
  link({ ...LLAMA, plot: LAYERS }),
);

flow(
  "errors of the plot's inputs are shown next to them",
  async (page) => {
    await page.getByText("24 points", { exact: true }).waitFor();
    const values = page.getByLabel("its values");
    await page.getByRole("alert").getByText("not drawn, because not whole numbers: 4k, 4096.5").waitFor();
    assert.equal(await values.getAttribute("aria-invalid"), "true");
    await values.fill("1, 2, 4, 8, 16, 32, 64");
    await values.press("Enter");
    await page.getByRole("alert").getByText("not drawn, because of the limit of 6 curves: 64").waitFor();
    await values.fill("8");
    await values.press("Enter");
    await page.getByText("8 points", { exact: true }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    const step = page.getByLabel("step", { exact: true });
    await step.fill("0");
    await step.press("Enter");
    await page
      .getByRole("alert")
      .getByText("step must be a positive whole number; the plot uses 1")
      .waitFor();
    assert.equal(await step.getAttribute("aria-invalid"), "true");
    await step.fill("2");
    await step.press("Enter");
    await page.getByText("4 points", { exact: true }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  },
  link({ ...LLAMA, plot: { ...LAYERS, other: "num_key_value_heads", values: "8, 4k, 16, 4096.5, 32" } }),
);

flow(
  "fields that the next model lacks leave the plot, with a note",
  async (page) => {
    await page.getByText("16 points", { exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Model", exact: true }).fill("GPT2LMHeadModel");
    await page.getByRole("option", { name: "GPT2LMHeadModel gpt2", exact: true }).click();
    await page.getByText("A lacks intermediate_size, which the last plot used").waitFor();
    await page.getByText("8 points", { exact: true }).waitFor();
    assert.equal(await page.getByRole("combobox", { name: "over", exact: true }).inputValue(), "vocab_size");
    assert.equal(await page.getByRole("combobox", { name: "one curve per" }).inputValue(), "");
  },
  link({
    ...LLAMA,
    plot: { ...PLOT, field: "vocab_size", other: "intermediate_size", values: "1024, 2048" },
  }),
);

flow(
  "the size for a compute budget",
  async (page) => {
    await page.getByRole("combobox", { name: "budget" }).selectOption("memory");
    await page.getByText("or of the model's maximum if smaller").waitFor();
    await page.getByRole("combobox", { name: "budget" }).selectOption("compute");
    await page.getByLabel("size", { exact: true }).fill("1e21");
    await page.getByLabel("size", { exact: true }).press("Enter");
    // archspec solve LlamaForCausalLM --compute 1e21
    await page.getByRole("row", { name: "N, params 2,791,666,667" }).waitFor();
    await page.getByRole("row", { name: "1 3,072 24 24 7,680 2,801,421,312" }).waitFor();
    await page.getByRole("combobox", { name: "budget" }).selectOption("flops");
    await page.getByLabel("size", { exact: true }).fill("1e22");
    await page.getByRole("textbox", { name: "tokens" }).fill("2e11");
    await page.getByRole("textbox", { name: "tokens" }).press("Enter");
    // archspec solve LlamaForCausalLM --flops 1e22 --tokens 2e11
    await page.getByRole("row", { name: "1 4,352 34 34 11,264 7,854,789,888" }).waitFor();
  },
  link({ ...LLAMA, plot: LAYERS }),
);
