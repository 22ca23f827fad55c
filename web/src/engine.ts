/** Calls of the engine as promises, one after another, in two threads: what needs SymPy never holds up a count. */
import { signal } from "@preact/signals";
import type { Reply } from "./engine.worker";
import { SLOW } from "./symbolic";

/** What archspec refuses: what, where in the pasted text or at which field that was set, and what would be right. */
export interface Problem {
  message: string;
  help: string;
  path: string;
  line?: number;
  column?: number;
  excerpt?: [before: string, there: string, after: string]; // of that line, or of what was typed
  field?: string;
  report?: string; // of a bug: what its report should hold
  unloaded?: boolean; // the engine is not there: another attempt may bring it
}

export class Refusal extends Error {
  constructor(readonly problems: Problem[]) {
    super(problems.map((one) => one.message).join("\n"));
  }
}

/** How often the engine has been asked for again: what was asked in vain is asked anew. */
export const attempts = signal(0);

interface Call {
  call: string;
  args: unknown[];
  latest: boolean; // a later one of that name makes it needless
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** A worker, started with the first call, and anew after one that failed. */
class Engine {
  private worker: Worker | undefined;
  private readonly waiting: Call[] = [];
  private running: Call | undefined;

  private started(): Worker {
    // a worker finds the engine's files by its name: beside the page, wherever that is served from
    const name = document.baseURI;
    const worker = new Worker(new URL("./engine.worker.ts", import.meta.url), { type: "module", name });
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.answered(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault(); // said in the page
      this.answered({ unloaded: event.message || "its script cannot be fetched" });
    });
    return worker;
  }

  /** One that still waits and is overtaken has no answer. */
  post(one: Call): void {
    const overtaken = this.waiting.findIndex(({ call, latest }) => call === one.call && latest && one.latest);
    if (overtaken >= 0) this.waiting.splice(overtaken, 1);
    this.waiting.push(one);
    this.next();
  }

  private next(): void {
    if (this.running) return;
    this.running = this.waiting.shift();
    if (!this.running) return;
    this.worker ??= this.started();
    this.worker.postMessage({ call: this.running.call, args: this.running.args });
  }

  private answered({ answer, unloaded, failure }: Reply): void {
    const one = this.running;
    this.running = undefined;
    if (answer === undefined) this.ended();
    if (unloaded !== undefined) {
      for (const each of this.waiting.splice(0)) each.reject(new Refusal([notLoaded(unloaded)]));
      one?.reject(new Refusal([notLoaded(unloaded)]));
    }
    if (failure !== undefined && one) one.reject(new Refusal([failed(one, failure)]));
    if (answer !== undefined && one) settled(one, answer);
    this.next();
  }

  private ended(): void {
    this.worker?.terminate();
    this.worker = undefined;
  }
}

function notLoaded(why: string): Problem {
  return {
    message: `the engine cannot be loaded: ${why}`,
    help: "it needs WebAssembly, and the files beside this page: look at the connection, and try again",
    path: "",
    unloaded: true,
  };
}

function failed({ call, args }: Call, why: string): Problem {
  return {
    message: `the engine broke down, and starts anew: ${why}`,
    help: "that is a bug of archspec, to be reported with this:",
    path: "",
    report: `${call} ${JSON.stringify(args)}`.slice(0, 500).concat("\n", why),
  };
}

function settled(one: Call, answer: string): void {
  const { result, problems } = JSON.parse(answer) as { result?: unknown; problems?: Problem[] };
  if (problems) one.reject(new Refusal(problems));
  else one.resolve(result);
}

const numbers = new Engine();
const symbols = new Engine();

function posted<Result>(call: string, args: unknown[], latest: boolean): Promise<Result> {
  const engine = SLOW.has(call) ? symbols : numbers;
  return new Promise<Result>((resolve, reject) => {
    engine.post({ call, args, latest, resolve: resolve as (value: unknown) => void, reject });
  });
}

/** The engine's answer to a call of `engine/page.py`. */
export function ask<Result>(call: string, ...args: unknown[]): Promise<Result> {
  return posted(call, args, false);
}

/** The same where a later call of that name makes this one needless: then it may never be answered. */
export function askLatest<Result>(call: string, ...args: unknown[]): Promise<Result> {
  return posted(call, args, true);
}
