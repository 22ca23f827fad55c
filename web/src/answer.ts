/** A view's answer: what was last given, whether another is on its way, and what is refused. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { attempts, type Problem, Refusal } from "./engine";
import { ready } from "./state";

export interface Answer<Result> {
  result?: Result;
  pending: boolean;
  problems: Problem[];
}

/**
 * Asks anew whenever the signals that `asked` reads change; an answer that came too late is dropped.
 * Where it asks nothing, since nobody looks, or is refused, the result is what was last given.
 */
export function answering<Result>(asked: () => Promise<Result> | undefined): ReadonlySignal<Answer<Result>> {
  const answer = signal<Answer<Result>>({ pending: true, problems: [] });
  let turn = 0;
  effect(() => {
    if (!ready.value) return;
    attempts.value; // asks anew with each
    turn += 1;
    const own = turn;
    const told = asked();
    if (told === undefined) return;
    answer.value = { ...answer.peek(), pending: true };
    told.then(
      (result) => {
        if (own === turn) answer.value = { result, pending: false, problems: [] };
      },
      (error: Error) => {
        if (own === turn) answer.value = { ...answer.peek(), pending: false, problems: problemsOf(error) };
      },
    );
  });
  return answer;
}

function problemsOf(error: Error): Problem[] {
  return error instanceof Refusal ? error.problems : [{ message: error.message, help: "", path: "" }];
}
