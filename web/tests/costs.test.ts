/** Costs: the figures are those of the command line, and what is refused is said. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { flow, link, site } from "./flow.ts";

const LLAMA = link({ view: "costs", source: { name: "LlamaForCausalLM" } });
const FLOPS = "29,261,612,187,648"; // archspec flops LlamaForCausalLM

flow(
  "a call and a training step",
  async (page) => {
    await page.getByText(FLOPS).waitFor();
    await page.getByText("120,105,542,400 (111.9 GiB)").waitFor(); // archspec memory LlamaForCausalLM --train
    await page.getByText("does not fit: 111.9 GiB, 150.1% of the 80 GB of NVIDIA H100 SXM").waitFor();
  },
  LLAMA,
);

flow(
  "a change of the call, the weights and the accelerator is counted, and in the address",
  async (page) => {
    await page.getByText(FLOPS).waitFor();
    await page.getByLabel("tokens", { exact: true }).fill("4096");
    await page.getByLabel("tokens", { exact: true }).press("Enter");
    await page.getByText("62,921,270,886,400").waitFor(); // archspec flops LlamaForCausalLM --tokens 4096
    await page.getByRole("combobox", { name: "dtype", exact: true }).selectOption("bfloat16");
    await page.getByRole("combobox", { name: "weights", exact: true }).selectOption("nf4");
    await page.getByText("weights in nf4 3.4 GiB").first().waitFor();
    await page.getByRole("combobox", { name: "memory of one" }).selectOption("NVIDIA T4");
    await page.getByText("of the 16 GB of NVIDIA T4").first().waitFor();
    await page.waitForFunction(() => location.hash.includes("NVIDIA+T4") && location.hash.includes("call="));
    await page.reload();
    await page.getByText("62,921,270,886,400").waitFor();
  },
  LLAMA,
);

test("every way to store weights and every optimizer is one that archspec knows", async () => {
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
        refused.every((one) => !/known:|is no |did you mean/.test(one)),
        `${name} ${value}: ${refused}`,
      );
    }
  }
  await page.context().close();
});

flow(
  "what archspec refuses is said once, with what would be right",
  async (page) => {
    const refused = page.getByRole("alert").getByText("reads what its encoder gives");
    await refused.first().waitFor();
    assert.equal(await refused.count(), 1);
    await page.getByLabel("encoder positions").fill("512");
    await page.getByLabel("encoder positions").press("Enter");
    await page.locator("#flops").waitFor();
  },
  link({ view: "costs", source: { name: "T5ForConditionalGeneration" } }),
);

test("a part is refused, and the others are given", async () => {
  const page = await site.page({}, link({ view: "costs", source: { name: "BertModel" } }));
  await page.locator("#flops").waitFor();
  await page.getByText("BertModel hands no cache on to a next call").waitFor();
  await page.context().close();
});

test("accelerators have a source, and the bytes that their vendors state", () => {
  const { accelerators } = JSON.parse(readFileSync("data/accelerators.json", "utf8"));
  const units: Record<string, number> = { GB: 1e9, GiB: 2 ** 30 };
  for (const { name, memory, bytes, source } of accelerators) {
    const [number, unit] = memory.split(" ");
    assert.equal(bytes, Number(number) * (units[unit] ?? Number.NaN), name);
    assert.ok(source.length > 10, name);
  }
  assert.equal(new Set(accelerators.map((one: { name: string }) => one.name)).size, accelerators.length);
});
