/** Costs of images, videos and audio: inputs, errors and numbers, compared with the Python engine. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { flow, followed, link, site } from "./flow.ts";

const QWEN = { name: "Qwen2VLForConditionalGeneration" };
const NAMES = ["batch", "tokens", "past", "encoder tokens", "text tokens", "images", "videos", "audio"];
const PROCESSED = "sizes are those of the tensors";

interface Report {
  flops: number;
  tokens: number;
  total_bytes: Record<string, number>;
  cache_bytes: Record<string, number>;
}

function commandLine(...line: string[]): string {
  const python = process.env.PYTHON ?? "python3";
  const root = join(import.meta.dirname, "..", "..");
  return execFileSync(python, ["-m", "archspec", ...line], { cwd: root }).toString();
}

const report = (...line: string[]): Report => JSON.parse(commandLine(...line, "--json"));

const written = (count: number | undefined) => Number(count).toLocaleString("en-US");
const rowOf = (page: Page, table: string, first: string) =>
  page.getByLabel(table).getByRole("row").filter({ hasText: first }).first();
const input = (page: Page, name: string) => page.getByLabel(name, { exact: true });

async function type(page: Page, name: string, text: string): Promise<void> {
  await input(page, name).fill(text);
  await input(page, name).press("Enter");
}

const counted = (page: Page, flops: number) =>
  page.locator("#flops", { hasText: new RegExp(`^${written(flops)}$`) }).waitFor();

/** The titles and texts of what the model receives. */
async function received(page: Page): Promise<[string, string][]> {
  const facts = page.locator("#model-inputs");
  const [titles, texts] = [
    await facts.locator("dt").allTextContents(),
    await facts.locator("dd").allTextContents(),
  ];
  return titles.map((title, rank) => [title, texts[rank] ?? ""]);
}

/** Asserts that the page shows rows of the command line's report. */
async function agrees(page: Page, ...line: string[]): Promise<void> {
  const printed = commandLine(...line).split("\n");
  for (const [title, text] of await received(page)) {
    assert.ok(
      printed.some((one) => one.startsWith(title) && one.endsWith(` ${text}`)),
      `${title}: ${text}`,
    );
  }
}

/** The inputs of a call that the form shows. */
async function shown(page: Page): Promise<string[]> {
  const found = await Promise.all(NAMES.map((name) => input(page, name).count()));
  return NAMES.filter((_, rank) => found[rank]);
}

flow(
  "a ViT and an image",
  async (page) => {
    await counted(page, report("flops", "ViTModel").flops);
    assert.deepEqual(await shown(page), ["batch", "images"]);
    assert.equal(await input(page, "images").getAttribute("placeholder"), "224x224");
    assert.equal(await page.locator("#model-inputs").count(), 0);
    await type(page, "images", "3@640x480, 100 × 200");
    const line = ["flops", "ViTModel", "--image", "3@640x480", "--image", "100x200"];
    await counted(page, report(...line).flops);
    assert.equal(await input(page, "images").inputValue(), "3@640x480, 100x200");
    assert.deepEqual(await received(page), [
      ["batch size", "4"],
      ["images received", "4 of 224×224"],
      ["image 640×480", "resized to 224×224"],
      ["image 100×200", "resized to 224×224"],
      ["processor", "defaults of ViTImageProcessor"],
    ]);
    await agrees(page, ...line);
    assert.equal(await page.getByText("per token", { exact: true }).count(), 0);
    await page.getByLabel(PROCESSED).check();
    await input(page, "images").fill("320x480");
    await counted(page, report(...line, "--processed").flops); // an answer while the user types
    await input(page, "images").press("Enter");
    await counted(page, report("flops", "ViTModel", "--image", "320x480", "--processed").flops);
    await page.waitForFunction(() => location.hash.includes("call="));
    await page.waitForTimeout(600); // the address is written after a pause
    await page.reload();
    await counted(page, report("flops", "ViTModel", "--image", "320x480", "--processed").flops);
    assert.equal(await input(page, "images").inputValue(), "320x480");
    assert.ok(await page.getByLabel(PROCESSED).isChecked());
  },
  link({ view: "costs", source: { name: "ViTModel" } }),
);

flow(
  "Qwen2-VL, an image, a video and text",
  async (page) => {
    await counted(page, report("flops", QWEN.name).flops);
    assert.deepEqual(await shown(page), ["batch", "tokens", "past", "text tokens", "images", "videos"]);
    assert.ok(await page.getByLabel(PROCESSED).isDisabled());
    await type(page, "images", "1024x768");
    await type(page, "text tokens", "200");
    const line = [QWEN.name, "--image", "1024x768", "--text", "200"];
    await counted(page, report("flops", ...line).flops);
    assert.deepEqual(await received(page), [
      ["batch size", "1"],
      ["tokens", "1,199"],
      ["images received", "1036×756"],
      ["tokens per image", "999"],
      ["image 1024×768", "resized to 1036×756, 999 tokens"],
      ["processor", "defaults of Qwen2VLImageProcessor and Qwen2VLVideoProcessor"],
    ]);
    assert.equal(await input(page, "tokens").getAttribute("placeholder"), "1,199");
    const { cache_bytes } = report("cache", ...line);
    assert.ok(await rowOf(page, "bytes of the cache", written(cache_bytes.exact)).count());
    await page.getByText("in bytes", { exact: true }).click();
    const { total_bytes } = report("memory", ...line);
    const total = await rowOf(page, "inference memory", "total").getByRole("cell").allTextContents();
    assert.deepEqual(
      total.slice(1),
      Object.values(total_bytes).map((count) => `≥ ${written(count)}`),
    );
    const step = JSON.parse(commandLine("memory", ...line, "--train", "--json"));
    await page.getByText(`≥ ${written(step.total_bytes)} (`).waitFor();
    await type(page, "videos", "16@448x448");
    await counted(page, report("flops", ...line, "--video", "16@448x448").flops);
    await agrees(page, "flops", ...line, "--video", "16@448x448");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} px too wide`);
  },
  link({ view: "costs", source: QWEN }),
);

flow(
  "Whisper and audio",
  async (page) => {
    const name = "WhisperForConditionalGeneration";
    await page.locator("#flops").waitFor();
    assert.deepEqual(await shown(page), ["batch", "tokens", "past", "text tokens", "audio"]);
    await type(page, "tokens", "10");
    for (const [typed, given] of [
      ["30s", "30s"],
      ["480,000", "480000"],
      ["3000f", "3000f"],
    ] as const) {
      await type(page, "audio", typed);
      await page.waitForSelector(".costs[aria-busy=false]");
      const line = [name, "--audio", given, "--tokens", "10"];
      await counted(page, report("flops", ...line).flops);
      await agrees(page, "flops", ...line);
      const { cache_bytes } = report("cache", ...line);
      assert.ok(await rowOf(page, "bytes of the cache", written(cache_bytes.exact)).count());
    }
    assert.deepEqual(await received(page), [
      ["batch size", "1"],
      ["tokens", "10"],
      ["audios received", "3,000"],
    ]);
  },
  link({ view: "costs", source: { name: "WhisperForConditionalGeneration" } }),
);

flow(
  "errors are shown at the input, once",
  async (page) => {
    await page.locator("#flops").waitFor();
    for (const [name, text, message] of [
      ["images", "640y480", "'640y480' is not WIDTHxHEIGHT write 1024x768"],
      ["images", "5000@640x480", "images: more than 4,096 items pass at most 4,096"],
      ["videos", "448x448", "'448x448' is not FRAMES@WIDTHxHEIGHT write 16@448x448"],
      ["images", "1024x768", "tokens 5: images, videos and audios alone are 999 tokens"],
    ] as const) {
      if (message.startsWith("tokens")) await type(page, "tokens", "5");
      await type(page, name, text);
      const said = page.getByRole("alert").filter({ hasText: message });
      await said.waitFor();
      assert.equal(await said.count(), 1);
      const wrong = input(page, message.startsWith("tokens") ? "tokens" : name);
      assert.equal(await wrong.getAttribute("aria-invalid"), "true");
      await page.getByText("The error is at the input").waitFor();
      await type(page, name, "");
      await said.waitFor({ state: "detached" });
      assert.equal(await wrong.getAttribute("aria-invalid"), "false");
    }
    await type(page, "text tokens", "5");
    await page.getByRole("alert").filter({ hasText: "text tokens cannot be combined with tokens" }).waitFor();
    await type(page, "tokens", "");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await type(page, "images", "100x100");
    await page.getByLabel(PROCESSED).check();
    await page
      .getByRole("alert")
      .filter({ hasText: "height and width of images must be multiples of 28×28, not 100×100" })
      .waitFor();
  },
  link({ view: "costs", source: QWEN }),
);

test("a class ignores the inputs that it does not take, and keeps them for the next class", async () => {
  const call = { images: ["1024x768"], text_tokens: 200, processed: false };
  const page = await site.page({}, link({ view: "costs", source: { name: "LlamaForCausalLM" }, call }));
  await counted(page, report("flops", "LlamaForCausalLM").flops);
  assert.deepEqual(await shown(page), ["batch", "tokens", "past", "encoder tokens"]);
  assert.equal(await page.getByLabel(PROCESSED).count(), 0);
  assert.equal(await page.getByRole("alert").count(), 0);
  await followed(page, link({ view: "costs", source: QWEN, call }));
  await counted(page, report("flops", QWEN.name, "--image", "1024x768", "--text", "200").flops);
  assert.equal(await input(page, "images").inputValue(), "1024x768");
  await page.context().close();
});

test("a class that needs items asks for their size", async () => {
  const page = await site.page({}, link({ view: "costs", source: { name: "Wav2Vec2Model" } }));
  await page.getByRole("alert").filter({ hasText: "the size of the audios is missing" }).waitFor();
  await type(page, "audio", "3s");
  await counted(page, report("flops", "Wav2Vec2Model", "--audio", "3s").flops);
  await page.context().close();
});

test("two classes are compared with the inputs that both take", async () => {
  const compared = (a: string, b: string) =>
    link({ view: "compare", source: { name: a }, other: { name: b } });
  const page = await site.page({}, compared("ViTModel", "ViTForImageClassification"));
  const row = rowOf(page, "numbers of both", "FLOPs of the forward pass");
  const flops = ["ViTModel", "ViTForImageClassification"].map((name) => report("flops", name).flops);
  await row
    .filter({ hasText: written(flops[0]) })
    .filter({ hasText: written(flops[1]) })
    .waitFor();
  await followed(page, compared("LlamaForCausalLM", QWEN.name));
  await row.filter({ hasText: written(report("flops", QWEN.name).flops) }).waitFor();
  await page.context().close();
});
