/** The hosted page: its head, its footer, its frame and its files. */
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
  "the title names the model, and the footer the versions",
  async (page) => {
    await page.locator("#params").waitFor();
    assert.equal(await page.title(), "meta/tiny, BertModel · archspec");
    const foot = page.getByRole("contentinfo");
    await foot.getByText(/^archspec \d+\.\d+\.\d+, which describes transformers \d+\.\d+\.\d+$/).waitFor();
    assert.equal(await foot.getByRole("link").count(), 0); // alone, it does not link to documentation
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

test("without JavaScript it asks for JavaScript", async () => {
  const page = await site.page({ javaScriptEnabled: false });
  await page.locator("noscript code", { hasText: "archspec count config.json" }).waitFor();
  await page.context().close();
});

test("in a Space's frame it sends its address to the surrounding page", async () => {
  const page = await site.page(SIZES.desktop);
  const space = "https://someone-archspec.static.hf.space/";
  await page.route(`${space}**`, async (route) => {
    const response = await route.fetch({ url: route.request().url().replace(space, site.address) });
    await route.fulfill({ response });
  });
  await page.route("https://huggingface.co/**", (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<script>received = []; addEventListener("message", ({ data }) => received.push(data.hash))</script>
        <iframe src="${space}" width="1000" height="800"></iframe>`,
    }),
  );
  await page.goto("https://huggingface.co/spaces/someone/archspec");
  await page.frameLocator("iframe").getByRole("button", { name: "Tensors" }).click();
  await page.waitForFunction('received.at(-1) === "#view=%22tensors%22"');
  await page.unrouteAll({ behavior: "ignoreErrors" }); // the engine's files may still be loading
  await page.context().close();
});

test("no host refuses a file, or takes a module for something else", () => {
  // limits for files: 10 MB in a Space, 25 MiB at Cloudflare, 100 MB at GitHub
  for (const path of FILES) assert.ok(statSync(path).size < 10e6, path);
  assert.ok(FILES.some((path) => path.endsWith("pyodide.asm.js")));
  assert.deepEqual(
    FILES.filter((path) => path.endsWith(".mjs")), // nginx does not serve them as JavaScript
    [],
  );
});
