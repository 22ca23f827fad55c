import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { counts, flow, link } from "./flow.ts";

const knobs = link({ view: "knobs" });

flow(
  "counts follow a slider, a number and a switch; reset restores the config",
  async (page) => {
    await counts(page, "124,439,808");
    await page.getByLabel("n_layer, slider").press("ArrowRight");
    await counts(page, "131,527,680");
    assert.equal(await page.getByLabel("n_layer", { exact: true }).inputValue(), "13");
    await page.getByLabel("n_embd, slider").press("ArrowRight"); // a step that heads divide
    await page.locator("#params:not(:text('131,527,680'))").waitFor();
    assert.equal(await page.locator(".knob [role=alert]").count(), 0);
    await page.getByRole("button", { name: "reset n_embd" }).first().click();
    await page.getByLabel("n_layer", { exact: true }).fill("24");
    await counts(page, "209,494,272");
    await page.getByRole("switch", { name: "tie_word_embeddings" }).uncheck();
    await counts(page, "248,091,648");
    await page.locator(".cell", { hasText: "lm_head" }).waitFor();
    await page.getByRole("button", { name: "reset all" }).click();
    await counts(page, "124,439,808");
  },
  knobs,
);

flow(
  "a changed field updates derived fields, and errors are shown next to it",
  async (page) => {
    const width = page.getByLabel("n_embd", { exact: true });
    await width.fill("1536");
    await counts(page, "418,748,928");
    assert.equal(await page.getByLabel("n_inner", { exact: true }).inputValue(), "6144");
    await width.fill("1000");
    const knob = page.locator(".knob", { has: width });
    await knob.getByRole("alert").filter({ hasText: "n_embd = 1000, n_head = 12" }).waitFor();
    assert.equal(await width.getAttribute("aria-invalid"), "true");
    await counts(page, "418,748,928");
  },
  knobs,
);

flow(
  "head counts change in steps that divide, and the changed config.json can be copied",
  async (page) => {
    await page.getByLabel("num_attention_heads, slider").press("ArrowRight");
    await counts(page, "6,738,415,616");
    assert.equal(await page.getByLabel("num_attention_heads", { exact: true }).inputValue(), "64");
    const link = page.getByRole("link", { name: "Download config.json" });
    await page.waitForFunction(() =>
      document.querySelector("a[download]")?.getAttribute("href")?.includes("num_attention_heads%22%3A%2064"),
    );
    const config = JSON.parse(decodeURIComponent((await link.getAttribute("href"))?.split(",")[1] ?? ""));
    assert.equal(config.architectures[0], "LlamaForCausalLM");
    await page.getByLabel("hidden_size", { exact: true }).fill("4100");
    await page.locator(".total").getByText("before the error").waitFor();
    assert.equal(await link.count(), 0);
  },
  link({ view: "knobs", source: { name: "LlamaForCausalLM" } }),
);

flow(
  "fields that the count does not read are reported",
  async (page) => {
    const idle = page.getByText("These do not enter the count here");
    assert.match((await idle.textContent()) ?? "", /n_head.*num_labels/);
    assert.equal(await page.getByLabel("n_head", { exact: true }).count(), 0);
    await page.getByLabel("Class").selectOption("GPT2ForSequenceClassification");
    await page.getByLabel("num_labels", { exact: true }).fill("3");
    await counts(page, "124,442,112");
  },
  knobs,
);

flow(
  "fields of parts have the names of their parts, and choices are offered",
  async (page) => {
    await page.getByRole("group", { name: "vision_config" }).waitFor();
    const before = await page.locator("#params").textContent();
    await page.getByLabel("vision_config.num_hidden_layers", { exact: true }).fill("1");
    await page.locator(`#params:not(:text("${before}"))`).waitFor();
    await page.getByRole("combobox", { name: "Model" }).fill("Wav2Vec2Model");
    await page.getByRole("option", { name: "Wav2Vec2Model wav2vec2", exact: true }).click();
    await counts(page, "94,371,712");
    await page.getByLabel("feat_extract_norm").selectOption("layer");
    await page.locator("#params:not(:text('94,371,712'))").waitFor();
  },
  link({ view: "knobs", source: { name: "LlavaForConditionalGeneration" } }),
);

const OLM = readFileSync("../configs/allenai--olmOCR-7B.json", "utf8");

flow(
  "an invalid field of a link is reported, and nothing is pending",
  async (page) => {
    await page.getByRole("alert").first().waitFor();
    await page.locator(".follows").getByText("counting …").waitFor({ state: "detached" });
  },
  link({ view: "knobs", source: { text: OLM, set: { "text_config.num_hidden_layers": 30 } } }),
);

flow(
  "a field that enters by the layers that it makes is a knob, though no formula names it",
  async (page) => {
    const idle = page.getByText("These do not enter the count here");
    assert.doesNotMatch((await idle.textContent()) ?? "", /num_hidden_layers/);
    await page.getByLabel("num_hidden_layers", { exact: true }).fill("77");
    await counts(page, "7,319,020,928");
  },
  link({ view: "knobs", source: { name: "ZambaModel" } }),
);
