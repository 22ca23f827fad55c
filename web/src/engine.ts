/** Calls of the engine as promises; an answer that nobody waits for any more is dropped. */
import type { Reply } from "./engine.worker";

/** What archspec refuses: what, where in the pasted text, and what would be right. */
export interface Problem {
  message: string;
  help: string;
  path: string;
  line?: number;
  column?: number;
  width?: number;
}

export class Refusal extends Error {
  constructor(readonly problems: Problem[]) {
    super(problems.map((one) => one.message).join("\n"));
  }
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

const worker = new Worker(new URL("./engine.worker.ts", import.meta.url), {
  type: "module",
  name: document.baseURI, // the worker finds the engine's files by it
});
const waiting = new Map<number, Waiting>();
let last = 0;

worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
  const one = waiting.get(data.id);
  waiting.delete(data.id);
  if (!one) return;
  if (data.answer === undefined) {
    one.reject(new Error(data.failure));
    return;
  }
  const { result, problems } = JSON.parse(data.answer) as { result?: unknown; problems?: Problem[] };
  if (problems) one.reject(new Refusal(problems));
  else one.resolve(result);
});

/** The engine's answer to a call of `engine/page.py`. */
export function ask<Result>(call: string, ...args: unknown[]): Promise<Result> {
  last += 1;
  const id = last;
  return new Promise<Result>((resolve, reject) => {
    waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
    worker.postMessage({ id, call, args });
  });
}
