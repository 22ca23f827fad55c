/** The page where it is served from: what its head and its foot say, in a frame, and which files there are. */
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SIZES } from "./browser.ts";
import { flow, link, site } from "./flow.ts";

const DIST = "dist";
const FILES = readdirSync(DIST, { recursive: true, encoding: "utf-8" })
  .map((name) => join(DIST, name))
  .filter((path) => statSync(path).isFile());

flow(
  "the title names the model, the foot what describes it",
  async (page) => {
    await page.locator("#params").waitFor();
    assert.equal(await page.title(), "meta/tiny, BertModel · archspec");
    const foot = page.getByRole("contentinfo");
    await foot.getByText(/^archspec \d+\.\d+\.\d+, which describes transformers \d+\.\d+\.\d+$/).waitFor();
    assert.equal(await foot.getByRole("link").count(), 0); // alone, it has no documentation beside it
  },
  link({ source: { text: '{"model_type": "bert", "num_hidden_layers": 1}', label: "meta/tiny" } }),
);

test("what is refused is not in the title", async () => {
  const page = await site.page(SIZES.desktop, link({ source: { name: "NoSuchModel" } }));
  await page.getByRole("alert").first().waitFor();
  assert.equal(await page.title(), "archspec: exact parameter counts");
  await page.context().close();
});

test("below the site it leads to the documentation", async () => {
  const page = await site.page(SIZES.desktop);
  await page.route(site.address, async (route) => {
    const whole = await (await route.fetch()).text();
    await route.fulfill({
      contentType: "text/html",
      body: whole.replace("</head>", '<link rel="help" href="../index.html"></head>'),
    });
  });
  await page.reload();
  const documentation = page.getByRole("link", { name: "Documentation" });
  assert.equal(await documentation.getAttribute("href"), new URL("../index.html", site.address).href);
  await page.context().close();
});

test("without JavaScript it says what it needs", async () => {
  const page = await site.page({ javaScriptEnabled: false });
  await page.locator("noscript code", { hasText: "archspec count config.json" }).waitFor();
  await page.context().close();
});

test("in a Space's frame it tells the page around it what its address is", async () => {
  const page = await site.page(SIZES.desktop);
  const space = "https://someone-archspec.static.hf.space/";
  await page.route(`${space}**`, async (route) => {
    const response = await route.fetch({ url: route.request().url().replace(space, site.address) });
    await route.fulfill({ response });
  });
  await page.route("https://huggingface.co/**", (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<script>told = []; addEventListener("message", ({ data }) => told.push(data.hash))</script>
        <iframe src="${space}" width="1000" height="800"></iframe>`,
    }),
  );
  await page.goto("https://huggingface.co/spaces/someone/archspec");
  await page.frameLocator("iframe").getByRole("button", { name: "Tensors" }).click();
  await page.waitForFunction('told.at(-1) === "#view=%22tensors%22"');
  await page.unrouteAll({ behavior: "ignoreErrors" }); // the engine's files may still be on their way
  await page.context().close();
});

test("no host refuses a file, or takes a module for something else", () => {
  // a Space keeps what is larger than 10 MB elsewhere, Cloudflare takes no file of 25 MiB, GitHub none of 100 MB
  for (const path of FILES) assert.ok(statSync(path).size < 10e6, path);
  assert.ok(FILES.some((path) => path.endsWith("pyodide.asm.js")));
  assert.deepEqual(
    FILES.filter((path) => path.endsWith(".mjs")), // of which nginx does not know that they are JavaScript
    [],
  );
});
