/** The engine's thread: loads Pyodide and archspec, then answers calls one by one. */
import type { PyodideInterface } from "pyodide";
import page from "../engine/page.py?raw";
import problems from "../engine/problems.py?raw";
import { SYMBOLIC } from "./symbolic";

export interface Request {
  call: string;
  args: unknown[];
}

/** The answer, or why the engine could not be loaded, or how it crashed; a crashed engine is replaced. */
export interface Reply {
  answer?: string;
  unloaded?: string;
  failure?: string;
}

type Answer = (call: string, args: string) => string;

// next to the page; a worker's own URL does not help, because bundlers move it
const base = new URL("engine/", self.name);
// Pyodide waits forever if one of its files is missing, so they are checked first
const FILES = ["pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];
let sympy: Promise<void> | undefined;

async function started(): Promise<{ python: PyodideInterface; answer: Answer }> {
  const [python, archive] = await Promise.all([pyodide(), fetched("archspec.tar.zst")]);
  unpack(python, archive);
  python.FS.writeFile("problems.py", problems);
  python.runPython(page, { filename: "page.py" });
  return { python, answer: python.globals.get("answer") as Answer };
}

async function pyodide(): Promise<PyodideInterface> {
  if (typeof WebAssembly === "undefined") throw new Error("WebAssembly is disabled");
  const script = import(/* @vite-ignore */ new URL("pyodide.js", base).href);
  const [{ loadPyodide }] = await Promise.all([
    script as Promise<typeof import("pyodide")>,
    ...FILES.map((name) => there(name)),
  ]);
  return loadPyodide({ indexURL: base.href });
}

async function there(name: string, method = "HEAD"): Promise<Response> {
  const response = await fetch(new URL(name, base), { method });
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

async function fetched(name: string): Promise<ArrayBuffer> {
  return (await there(name, "GET")).arrayBuffer();
}

function unpack(python: PyodideInterface, archive: ArrayBuffer): void {
  python.unpackArchive(archive, "zstdtar", { extractDir: "/lib/python3.14/site-packages" });
}

async function withSympy(): Promise<void> {
  const [{ python }, archive] = await Promise.all([engine, fetched("sympy.tar.zst")]);
  unpack(python, archive);
}

const engine = started();
engine.catch(() => undefined); // reported with the first call

/** The engine, once the packages that a call needs are loaded. */
async function loaded(call: string): Promise<Answer> {
  if (SYMBOLIC.has(call)) {
    sympy ??= withSympy();
    await sympy;
  }
  return (await engine).answer;
}

async function reply({ call, args }: Request): Promise<Reply> {
  let answer: Answer;
  try {
    answer = await loaded(call);
  } catch (error) {
    return { unloaded: error instanceof Error ? error.message : String(error) };
  }
  try {
    return { answer: answer(call, JSON.stringify(args)) };
  } catch (error) {
    return { failure: String(error).trim().split("\n").at(-1) ?? "" }; // the last line of a traceback has the message
  }
}

self.addEventListener("message", async ({ data }: MessageEvent<Request>) => {
  self.postMessage(await reply(data));
});
