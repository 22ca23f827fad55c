/** Calls the engine in two threads, so that counts do not wait for SymPy. */
import { signal } from "@preact/signals";
import type { Reply } from "./engine.worker";
import { SLOW } from "./symbolic";

/** An error of archspec: message, place in the pasted text or overridden field, and help. */
export interface Problem {
  message: string;
  help: string;
  path: string;
  line?: number;
  column?: number;
  excerpt?: [before: string, there: string, after: string]; // of that line or of typed text
  field?: string;
  input?: string; // the key of a call's input that it is about
  report?: string; // for a bug: the text of its report
  unloaded?: boolean; // the engine could not be loaded; a retry may help
}

export class Refusal extends Error {
  constructor(readonly problems: Problem[]) {
    super(problems.map((one) => one.message).join("\n"));
  }
}

/** The number of retries; each one repeats the calls that failed. */
export const attempts = signal(0);

interface Call {
  call: string;
  args: unknown[];
  latest: boolean; // dropped if a later call of that name comes
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** A worker, started with the first call and restarted after a crash. */
class Engine {
  private worker: Worker | undefined;
  private readonly waiting: Call[] = [];
  private running: Call | undefined;

  private started(): Worker {
    // the worker reads the page's URL from its name; the engine's files are next to it
    const name = document.baseURI;
    const worker = new Worker(new URL("./engine.worker.ts", import.meta.url), { type: "module", name });
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.answered(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault(); // the page shows it
      this.answered({ unloaded: event.message || "cannot fetch its script" });
    });
    return worker;
  }

  /** A waiting call that is superseded is never answered. */
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
    message: `cannot load the engine: ${why}`,
    help: "it needs WebAssembly and the files next to this page; check the connection and try again",
    path: "",
    unloaded: true,
  };
}

function failed({ call, args }: Call, why: string): Problem {
  return {
    message: `the engine crashed and is restarting: ${why}`,
    help: "this is a bug in archspec; please report it with this text:",
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

/** Calls a function of `engine/page.py`. */
export function ask<Result>(call: string, ...args: unknown[]): Promise<Result> {
  return posted(call, args, false);
}

/** Like `ask`, but a later call of the same name may supersede this one, which is then never answered. */
export function askLatest<Result>(call: string, ...args: unknown[]): Promise<Result> {
  return posted(call, args, true);
}
