/** The engine in a thread of its own: loads Pyodide and archspec, then answers one call after another. */
import type { PyodideInterface } from "pyodide";
import page from "../engine/page.py?raw";
import { SYMBOLIC } from "./symbolic";

export interface Request {
  call: string;
  args: unknown[];
}

export interface Reply {
  answer?: string;
  failure?: string;
}

type Answer = (call: string, args: string) => string;

// beside the page, wherever that is served from; a worker's own address is of no help, since bundlers move it
const base = new URL("engine/", self.name);
let sympy: Promise<void> | undefined;

async function started(): Promise<{ python: PyodideInterface; answer: Answer }> {
  const archive = fetched("archspec.tar.zst");
  const { loadPyodide } = (await import(
    /* @vite-ignore */ new URL("pyodide.js", base).href
  )) as typeof import("pyodide");
  const python = await loadPyodide({ indexURL: base.href });
  unpack(python, await archive);
  python.runPython(page);
  return { python, answer: python.globals.get("answer") as Answer };
}

async function fetched(name: string): Promise<ArrayBuffer> {
  const response = await fetch(new URL(name, base));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

function unpack(python: PyodideInterface, archive: ArrayBuffer): void {
  python.unpackArchive(archive, "zstdtar", { extractDir: "/lib/python3.14/site-packages" });
}

async function withSympy(): Promise<void> {
  const [{ python }, archive] = await Promise.all([engine, fetched("sympy.tar.zst")]);
  unpack(python, archive);
}

const engine = started();

async function reply({ call, args }: Request): Promise<Reply> {
  if (SYMBOLIC.has(call)) {
    sympy ??= withSympy();
    await sympy;
  }
  const { answer } = await engine;
  return { answer: answer(call, JSON.stringify(args)) };
}

self.addEventListener("message", async ({ data }: MessageEvent<Request>) => {
  try {
    self.postMessage(await reply(data));
  } catch (error) {
    self.postMessage({ failure: String(error) } satisfies Reply);
  }
});
