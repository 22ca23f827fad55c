/** The engine in a thread of its own: loads Pyodide and archspec, then answers one call after another. */
import type { PyodideInterface } from "pyodide";
import page from "../engine/page.py?raw";

export interface Request {
  id: number;
  call: string;
  args: unknown[];
}

export interface Reply {
  id: number;
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
    /* @vite-ignore */ new URL("pyodide.mjs", base).href
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

const SYMBOLIC = new Set(["formula", "diff", "sensitivity"]);
const engine = started();

async function reply({ id, call, args }: Request): Promise<Reply> {
  const { python, answer } = await engine;
  if (SYMBOLIC.has(call)) {
    sympy ??= withSympy(python);
    await sympy;
  }
  return { id, answer: answer(call, JSON.stringify(args)) };
}

self.addEventListener("message", async ({ data }: MessageEvent<Request>) => {
  try {
    self.postMessage(await reply(data));
  } catch (error) {
    self.postMessage({ id: data.id, failure: String(error) } satisfies Reply);
  }
});
