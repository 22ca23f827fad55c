/** Tests a flow through the page at the size of a desktop and of a phone. */
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { SIZES, Site } from "./browser.ts";

export const site = await Site.opened();
after(() => site.close());

export function flow(name: string, run: (page: Page) => Promise<void>, hash = ""): void {
  for (const [size, options] of Object.entries(SIZES)) {
    test(`${name} (${size})`, async () => {
      const page = await site.page(options, hash);
      await run(page);
      await page.context().close();
    });
  }
}

/** A link with the given state. */
export function link(values: Record<string, unknown>): string {
  const parts = Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]);
  return `#${new URLSearchParams(parts)}`;
}

/** Opens a link in the open page. */
export async function followed(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
}

/** Waits until the page shows this parameter count. */
export async function counts(page: Page, params: string): Promise<void> {
  await page.locator("#params", { hasText: new RegExp(`^${params}$`) }).waitFor();
}

export const look = (page: Page, view: string) =>
  page.getByRole("navigation").getByRole("button", { name: view }).click();
