/** The page's counts of every shipped config are those of the command line. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SIZES } from "./browser.ts";
import { site } from "./flow.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const QUANTITIES = [
  "trainable_params",
  "active_params",
  "active_params_without_lookup",
  "embedding_params",
  "non_embedding_params",
  "buffers",
];

type Told = Record<string, number | string>;

function commandLine(file: string): Told {
  const python = process.env.PYTHON ?? "python3";
  const line = ["-m", "archspec", "count", join("configs", file), "--json"];
  return JSON.parse(execFileSync(python, line, { cwd: ROOT, encoding: "utf8" })) as Told;
}

const written = (value: number | string | undefined) => Number(value).toLocaleString("en-US");

const files = readdirSync(join(ROOT, "configs")).filter((one) => one.endsWith(".json"));
assert.ok(files.length > 30);

test(`the ${files.length} shipped configs`, async () => {
  const page = await site.page(SIZES.desktop);
  for (const file of files) {
    const told = commandLine(file);
    const name = file.replace(".json", "").replace("--", "/");
    await page.getByRole("combobox", { name: "Model" }).fill(name);
    await page
      .locator("[role=option]", { has: page.getByText(name, { exact: true }) })
      .or(page.getByRole("option", { name }))
      .first()
      .click();
    await page.locator("#params", { hasText: new RegExp(`^${written(told.params)}$`) }).waitFor();
    assert.equal(await page.locator("h2").textContent(), told.architecture, file);
    for (const quantity of QUANTITIES) {
      assert.equal(
        await page.locator(`[data-count=${quantity}]`).textContent(),
        written(told[quantity]),
        file,
      );
    }
    const bytes = await page.locator("[data-count=bytes]").textContent();
    assert.equal(bytes?.split(" ")[0], written(told.bytes), file);
  }
  await page.context().close();
});
