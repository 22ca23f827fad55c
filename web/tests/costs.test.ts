/** Costs: the page and the command line agree, and errors are shown. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { flow, followed, link, site } from "./flow.ts";

const LLAMA = link({ view: "costs", source: { name: "LlamaForCausalLM" } });
const FLOPS = "29,261,612,187,648"; // archspec flops LlamaForCausalLM
const CALL = {
  batch: 1,
  tokens: null,
  past: 0,
  encoder_tokens: null,
  dtype: null,
  weights: null,
  last: false,
};
const TRAINING = {
  dtype: "bfloat16",
  optimizer: "adamw",
  attention: "flash",
  checkpointing: false,
  data_parallel: 1,
  zero: 0,
  tensor_parallel: 1,
  pipeline_parallel: 1,
  expert_parallel: 1,
};
const MISTRAL = readFileSync("../configs/mistralai--Mistral-7B-v0.1.json", "utf8");

interface Told {
  flops: number;
  total_bytes: Record<string, number>;
  cache_bytes: { pages: number };
  holds: { pages: { tokens: number; batch: number } };
}

function commandLine(...line: string[]): Told {
  const python = process.env.PYTHON ?? "python3";
  const root = join(import.meta.dirname, "..", "..");
  return JSON.parse(execFileSync(python, ["-m", "archspec", ...line, "--json"], { cwd: root }).toString());
}

const written = (count: number) => count.toLocaleString("en-US");
const rowOf = (page: Page, table: string, first: string) =>
  page.getByLabel(table).getByRole("row").filter({ hasText: first }).first();

flow(
  "a call and a training step",
  async (page) => {
    await page.getByText(FLOPS).waitFor();
    await page.getByText("≥ 120,367,702,796 (112.1 GiB)").waitFor(); // archspec memory LlamaForCausalLM --train
    await page
      .getByText(
        "does not fit: at least 112.1 GiB, 150.5% of the 80 GB (74.5 GiB) of NVIDIA H100 SXM; 37.6 GiB too much",
      )
      .waitFor();
  },
  LLAMA,
);

test("the page and the command line agree", async () => {
  const text = readFileSync("../configs/cognitivecomputations--dolphin-2.5-mixtral-8x7b.json", "utf8");
  const call = { ...CALL, batch: 64, tokens: 8192, weights: "awq", dtype: "bfloat16" };
  const page = await site.page({}, link({ view: "costs", source: { text }, call }));
  const config = "configs/cognitivecomputations--dolphin-2.5-mixtral-8x7b.json";
  const called = [config, "--batch", "64", "--tokens", "8192"];
  const stored = ["--weights", "awq", "--dtype", "bfloat16"];

  const memory = commandLine("memory", ...called, ...stored);
  await page.getByText("in bytes", { exact: true }).click();
  const total = await rowOf(page, "inference memory", "total").getByRole("cell").allTextContents();
  const totals = Object.values(memory.total_bytes).map((count) => `≥ ${written(count)}`);
  assert.deepEqual(total, ["total", ...totals]);

  const cache = commandLine("cache", ...called, ...stored, "--budget", "80GB");
  const cells = await rowOf(page, "bytes of the cache", "pages").getByRole("cell").allTextContents();
  const { tokens, batch } = cache.holds.pages;
  assert.deepEqual(cells.toSpliced(2, 1).slice(1), [
    written(cache.cache_bytes.pages),
    written(tokens),
    written(batch),
  ]);

  const flops = commandLine("flops", ...called);
  assert.equal(await page.locator("#flops").textContent(), written(flops.flops));
  await page.context().close();
});

test("a number that JavaScript would round keeps all digits", async () => {
  const set = {
    hidden_size: 765,
    num_attention_heads: 5,
    intermediate_size: 3071,
    max_position_embeddings: 131072,
  };
  const call = { ...CALL, batch: 8191, tokens: 131071 };
  const page = await site.page({}, link({ view: "costs", source: { name: "BertModel", set }, call }));
  // archspec flops BertModel --set hidden_size=765,num_attention_heads=5,intermediate_size=3071,max_position_embeddings=131072 …
  await page.locator("#flops", { hasText: "5,348,554,669,995,182,190" }).waitFor();
  await page.context().close();
});

flow(
  "changes of the lengths, the weights and the accelerator are counted and stored in the address",
  async (page) => {
    await page.getByText(FLOPS).waitFor();
    await page.getByLabel("tokens", { exact: true }).fill("4096");
    await page.getByLabel("tokens", { exact: true }).press("Enter");
    await page.getByText("62,921,270,886,400").waitFor(); // archspec flops LlamaForCausalLM --tokens 4096
    assert.equal(await page.getByLabel("tokens", { exact: true }).inputValue(), "4,096");
    await page.getByRole("combobox", { name: "dtype", exact: true }).selectOption("bfloat16");
    await page.getByRole("combobox", { name: "weights", exact: true }).selectOption("nf4");
    await page.getByText("weights in nf4 3.4 GiB").first().waitFor();
    await page.getByText("262,410,240 of 6,738,415,616 parameters stay in bfloat16").waitFor();
    await page.getByRole("combobox", { name: "accelerator" }).selectOption("NVIDIA T4");
    await page.getByText("of the 16 GB (14.6 GiB for programs) of NVIDIA T4").first().waitFor();
    await page.waitForFunction(() => location.hash.includes("NVIDIA+T4") && location.hash.includes("call="));
    await page.reload();
    await page.getByText("62,921,270,886,400").waitFor();
  },
  LLAMA,
);

flow(
  "custom memory, in which a model fits, is tight, barely fits or does not fit",
  async (page) => {
    const own = page.getByLabel("its GiB");
    const verdict = page.locator("#memory-exact .stack > p");
    await verdict.getByText("fits: ").waitFor();
    const needed = Number((await verdict.textContent())?.match(/: ([\d.]+) GiB/)?.[1]);
    for (const [gib, said] of [
      [2 * needed, /^fits: .*% of the .* GiB; .* GiB left$/],
      [1.05 * needed, /^tight: .* left, for memory that libraries reserve/],
      [0.5 * needed, /^does not fit: .* GiB too much$/],
    ] as const) {
      await own.fill(String(gib));
      await own.press("Enter");
      await verdict.getByText(said).waitFor();
    }
    await own.fill("23.6"); // not a whole number of bytes
    await own.press("Enter");
    await verdict.getByText("of the 23.6 GiB").waitFor();
    await page.getByText("Limits: what the 23.6 GiB can hold after the weights").waitFor();
    await page.getByRole("combobox", { name: "accelerator" }).selectOption("NVIDIA A100 40 GB");
    await verdict.getByText(/^fits: /).waitFor();
    await page.getByLabel("tokens", { exact: true }).fill("44,500");
    await page.getByLabel("tokens", { exact: true }).press("Enter");
    await verdict.getByText(/^barely: .* too much, unless its GB are GiB$/).waitFor();
  },
  link({
    view: "costs",
    source: { name: "LlamaForCausalLM" },
    call: { ...CALL, dtype: "bfloat16" },
    accelerator: "own",
    memory_gib: 100,
  }),
);

flow(
  "the FLOPs by module are navigable by keyboard",
  async (page) => {
    const tree = page.getByRole("tree", { name: "FLOPs by module" });
    await tree.press("ArrowRight");
    await tree.press("ArrowRight");
    await tree.press("ArrowRight");
    // attention and its four projections: five times 7.52% in archspec flops LlamaForCausalLM
    await page.getByText("model.layers.*.self_attn: 11 TFLOPs (37.58%)").waitFor();
    await page
      .getByRole("treeitem", { name: "itself, model.layers.*.self_attn: itself, 2.2 TFLOPs" })
      .waitFor();
    await page.getByText("by module", { exact: true }).click();
    await page.getByRole("cell", { name: "model.layers.*.mlp.gate_proj" }).waitFor();
  },
  LLAMA,
);

flow(
  "Mistral-7B in AWQ, and a training step with its lower bound",
  async (page) => {
    // archspec memory configs/mistralai--Mistral-7B-v0.1.json --weights awq
    await page.getByText("awq quantizes linear layers and experts").waitFor();
    await page.getByText("262,410,240 of 7,241,732,096 parameters stay in bfloat16").waitFor();
    await page.getByText("in bytes", { exact: true }).click();
    await page.getByRole("row", { name: "weights in awq (4 bits) 3,625,975,808" }).waitFor();
    await page.getByText("≥ 129,360,290,572 (120.5 GiB)").waitFor(); // archspec memory … --train
    await page.getByText("A lower bound; not included: inputs and buffers; temporary tensors").waitFor();
    assert.equal(await page.getByText("the config has no dtype").count(), 0);
  },
  link({ view: "costs", source: { text: MISTRAL }, call: { ...CALL, weights: "awq" } }),
);

flow(
  "an assumed dtype is noted in memory and cache, in the page's words",
  async (page) => {
    const noted = page.getByText(
      "the config has no dtype: bytes are for float32; choose another, e.g. with dtype bfloat16",
    );
    await noted.first().waitFor();
    assert.equal(await noted.count(), 2);
    await page.getByRole("combobox", { name: "dtype", exact: true }).selectOption("bfloat16");
    await noted.first().waitFor({ state: "detached" });
  },
  LLAMA,
);

test("options without effect are refused", async () => {
  for (const [call, training, message] of [
    [
      { encoder_tokens: 5 },
      {},
      "encoder tokens has no effect: LlamaForCausalLM does not attend to an encoder",
    ],
    [{ weights: "mxfp4" }, {}, "mxfp4 cannot quantize LlamaForCausalLM"],
    [{}, { zero: 3 }, "zero has no effect without data parallel"],
    [{}, { data_parallel: 8 }, "data parallel has no effect on the memory of a rank without zero"],
  ] as const) {
    const source = { name: "LlamaForCausalLM" };
    const asked = { call: { ...CALL, ...call }, training: { ...TRAINING, ...training } };
    const page = await site.page({}, link({ view: "costs", source, ...asked }));
    await page.getByRole("alert").getByText(message).first().waitFor();
    await page.context().close();
  }
});

test("archspec knows every weight format and optimizer of the form", async () => {
  const page = await site.page({}, LLAMA);
  await page.getByText(FLOPS).waitFor();
  for (const name of ["weights", "dtype", "optimizer", "weights in", "attention"]) {
    const field = page.getByRole("combobox", { name, exact: true });
    const options = await field.locator("option").all();
    const values = await Promise.all(
      options.map((one) => one.evaluate((it) => (it as HTMLOptionElement).value)),
    );
    assert.ok(values.length > 1);
    for (const value of values) {
      await field.selectOption(value);
      await page.waitForSelector(".costs[aria-busy=false]");
      const refused = await page.getByRole("alert").allTextContents();
      assert.ok(
        refused.every((one) => !/unknown |is not an? |did you mean/.test(one)),
        `${name} ${value}: ${refused}`,
      );
    }
  }
  await page.context().close();
});

flow(
  "an error is shown once, with help",
  async (page) => {
    const refused = page.getByRole("alert").getByText("it needs an encoder sequence length");
    await refused.first().waitFor();
    assert.equal(await refused.count(), 1);
    await page.getByLabel("encoder tokens", { exact: true }).fill("512");
    await page.getByLabel("encoder tokens", { exact: true }).press("Enter");
    await page.locator("#flops").waitFor();
  },
  link({ view: "costs", source: { name: "T5ForConditionalGeneration" } }),
);

test("one part is refused and the others use the default number of tokens", async () => {
  const page = await site.page({}, link({ view: "costs", source: { name: "BertModel" } }));
  await page.locator("#flops").waitFor();
  await page.getByPlaceholder("512", { exact: true }).waitFor(); // positions that BertModel has
  await page.getByText("BertModel does not return a KV cache").waitFor();
  await page.context().close();
});

test("the last model's numbers are dim until the next ones arrive", async () => {
  const page = await site.page({}, LLAMA);
  await page.getByText(FLOPS).waitFor();
  const dimmed = page.waitForFunction(() => {
    const figures = document.querySelector(".costs[aria-busy=true] > section");
    return figures && Number(getComputedStyle(figures).opacity) < 0.8;
  });
  const source = { name: "DeepseekV3ForCausalLM", set: { num_hidden_layers: 1000 } }; // takes a second
  await followed(page, link({ view: "costs", source }));
  await dimmed;
  await page.waitForFunction(() => {
    const figures = document.querySelector(".costs[aria-busy=false] > section");
    return figures && getComputedStyle(figures).opacity === "1";
  });
  await page.context().close();
});

flow(
  "the limits name the maximum number of positions",
  async (page) => {
    const row = rowOf(page, "bytes of the cache", "exact");
    await row.waitFor();
    const cells = row.getByRole("cell");
    // archspec cache GPT2LMHeadModel --budget 80GB
    assert.deepEqual((await cells.allTextContents()).slice(-2), ["1,024", "1,053"]);
    await page.getByText("the model's maximum number of positions").waitFor();
  },
  link({ view: "costs" }),
);

test("accelerators have a source, and at most the bytes that vendors state", () => {
  const { accelerators, sources, given } = JSON.parse(readFileSync("data/accelerators.json", "utf8"));
  for (const one of accelerators) {
    const [, gigabytes] = one.memory.match(/^(\d+) GB$/);
    const seen = one.given && Math.floor(Number(given[one.given].memory.replace(" GiB", "")) * 2 ** 30);
    assert.equal(one.bytes, seen ?? gigabytes * 1e9, one.name);
    assert.ok(one.bytes <= gigabytes * 1e9, one.name);
    assert.ok(sources[one.source], one.name);
  }
  for (const { url } of [
    ...Object.values<{ url: string }>(sources),
    ...Object.values<{ url: string }>(given),
  ]) {
    assert.ok(url.startsWith("https://"), url);
  }
  assert.equal(new Set(accelerators.map((one: { name: string }) => one.name)).size, accelerators.length);
});
