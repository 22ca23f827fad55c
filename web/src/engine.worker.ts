/** The engine in a thread of its own: loads Pyodide and archspec, then answers one call after another. */
import type { PyodideInterface } from "pyodide";
import page from "../engine/page.py?raw";
import problems from "../engine/problems.py?raw";
import { SYMBOLIC } from "./symbolic";

export interface Request {
  call: string;
  args: unknown[];
}

/** An answer, why there is no engine, or how it broke down: then it is of no more use. */
export interface Reply {
  answer?: string;
  unloaded?: string;
  failure?: string;
}

type Answer = (call: string, args: string) => string;

// beside the page, wherever that is served from; a worker's own address is of no help, since bundlers move it
const base = new URL("engine/", self.name);
// what Pyodide loads: where one is missing it never ends loading, so that is looked for first
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
  if (typeof WebAssembly === "undefined") throw new Error("WebAssembly is switched off");
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
engine.catch(() => undefined); // said with the first call

/** The engine, with what a call needs. */
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
    return { failure: String(error).trim().split("\n").at(-1) ?? "" }; // of a traceback the last line says what
  }
}

self.addEventListener("message", async ({ data }: MessageEvent<Request>) => {
  self.postMessage(await reply(data));
});
