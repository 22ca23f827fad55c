/** A headless Chromium, and a server for the built page on a free port. */
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { type PreviewServer, preview } from "vite";

export const SIZES: Record<string, BrowserContextOptions> = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true },
};

const PATIENCE = Number(process.env.PATIENCE ?? 60_000); // ms: the engine starts slowly on a busy machine

export class Site {
  private constructor(
    private readonly server: PreviewServer,
    private readonly browser: Browser,
    readonly address: string,
  ) {}

  /** `further`: additional files, by path. */
  static async opened(further: Record<string, string> = {}): Promise<Site> {
    const server = await preview({
      preview: { port: 0, host: "127.0.0.1" },
      logLevel: "error",
      plugins: [{ name: "further", configurePreviewServer: (server) => serveFiles(server, further) }],
    });
    const address = server.resolvedUrls?.local[0];
    if (!address) throw new Error("the server has no address");
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", // no requests to other hosts
      ],
    });
    return new Site(server, browser, address);
  }

  /** A context with an empty cache. */
  async context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(PATIENCE);
    return context;
  }

  /** A page in a new context. */
  async page(options: BrowserContextOptions = {}, hash = ""): Promise<Page> {
    const context = await this.context(options);
    const page = await context.newPage();
    page.on("pageerror", (error) => {
      throw error;
    });
    await page.goto(this.address + hash);
    return page;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.server.close();
  }
}

function serveFiles({ middlewares }: PreviewServer, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    middlewares.use(path, (_, response) => {
      response.setHeader("Content-Type", path.endsWith(".js") ? "text/javascript" : "text/html");
      response.end(text);
    });
  }
}
