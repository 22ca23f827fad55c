import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { counts, look, site } from "./flow.ts";

const MB = 1e6;
const COUNT = 10 * MB; // download of a first visit until its first count
const FORMULA = 7 * MB; // further download of its first formula: SymPy and KaTeX

/** The compressed size of a file of the page. */
function sent(path: string): number {
  const file = readFileSync(`dist${path}`);
  return /\.(zip|zst|woff2)$/.test(path) ? file.length : gzipSync(file, { level: 9 }).length;
}

test("a first visit stays within its budget of bytes, a first formula within its own", async (t) => {
  const context = await site.context();
  const seen = new Set<string>();
  context.on("request", (request) => seen.add(new URL(request.url()).pathname.replace(/\/$/, "/index.html")));
  const page = await context.newPage();
  await page.goto(site.address);
  await counts(page, "124,439,808");
  const first = [...seen];
  await look(page, "Formula");
  await page.locator("#formula-value").waitFor();
  await page.evaluate(() => document.fonts.ready);
  const further = [...seen].filter((path) => !first.includes(path));
  const weighed = (paths: string[]) => {
    for (const path of paths) t.diagnostic(`${sent(path)} ${path}`);
    return paths.map(sent).reduce((sum, one) => sum + one, 0);
  };
  const [count, formula] = [weighed(first), weighed(further)];
  t.diagnostic(`${count} until the first count, ${formula} more until the first formula`);
  assert(first.includes("/engine/pyodide.asm.wasm") && first.includes("/engine/archspec.tar.zst"));
  assert(further.includes("/engine/sympy.tar.zst"));
  assert(count < COUNT && formula < FORMULA);
  await context.close();
});
