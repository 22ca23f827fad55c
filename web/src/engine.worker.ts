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
  const archive = fetched("archspec.zip");
  const { loadPyodide } = (await import(
    /* @vite-ignore */ new URL("pyodide.js", base).href
  )) as typeof import("pyodide");
  const python = await loadPyodide({ indexURL: base.href });
  python.unpackArchive(await archive, "zip", { extractDir: "/lib/python3.14/site-packages" });
  python.runPython(page);
  return { python, answer: python.globals.get("answer") as Answer };
}

async function fetched(name: string): Promise<ArrayBuffer> {
  const response = await fetch(new URL(name, base));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

async function withSympy(python: PyodideInterface): Promise<void> {
  python.unpackArchive(await fetched("sympy.zip"), "zip", { extractDir: "/lib/python3.14/site-packages" });
}

const engine = started();

async function reply({ call, args }: Request): Promise<Reply> {
  const { python, answer } = await engine;
  if (SYMBOLIC.has(call)) {
    sympy ??= withSympy(python);
    await sympy;
  }
  return { answer: answer(call, JSON.stringify(args)) };
}

self.addEventListener("message", async ({ data }: MessageEvent<Request>) => {
  try {
    self.postMessage(await reply(data));
  } catch (error) {
    self.postMessage({ failure: String(error) } satisfies Reply);
  }
});
