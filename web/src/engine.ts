/** Calls of the engine as promises, one after another, in two threads: what needs SymPy never holds up a count. */
import type { Reply } from "./engine.worker";
import { SLOW } from "./symbolic";

/** What archspec refuses: what, where in the pasted text or at which field that was set, and what would be right. */
export interface Problem {
  message: string;
  help: string;
  path: string;
  line?: number;
  column?: number;
  width?: number;
  text?: string; // that the place is in, where it is not the config's
  field?: string;
}

export class Refusal extends Error {
  constructor(readonly problems: Problem[]) {
    super(problems.map((one) => one.message).join("\n"));
  }
}

interface Call {
  call: string;
  args: unknown[];
  latest: boolean; // a later one of that name makes it needless
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

class Engine {
  private readonly worker: Worker;
  private readonly waiting: Call[] = [];
  private running: Call | undefined;

  constructor(name: string) {
    this.worker = new Worker(new URL("./engine.worker.ts", import.meta.url), { type: "module", name });
    this.worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.answered(data));
    this.worker.addEventListener("error", ({ message }) =>
      this.answered({ failure: message || "the engine cannot be loaded" }),
    );
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
    if (this.running) this.worker.postMessage({ call: this.running.call, args: this.running.args });
  }

  private answered({ answer, failure }: Reply): void {
    const one = this.running;
    this.running = undefined;
    if (one) settled(one, answer, failure);
    this.next();
  }
}

function settled(one: Call, answer: string | undefined, failure: string | undefined): void {
  if (answer === undefined) {
    one.reject(new Error(failure));
    return;
  }
  const { result, problems } = JSON.parse(answer) as { result?: unknown; problems?: Problem[] };
  if (problems) one.reject(new Refusal(problems));
  else one.resolve(result);
}

// a worker finds the engine's files by its name: beside the page, wherever that is served from
const numbers = new Engine(document.baseURI);
let symbols: Engine | undefined;

function posted<Result>(call: string, args: unknown[], latest: boolean): Promise<Result> {
  if (SLOW.has(call)) symbols ??= new Engine(document.baseURI);
  const engine = SLOW.has(call) && symbols ? symbols : numbers;
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
