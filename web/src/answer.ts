/** A view's answer: what was last given, whether another is on its way, and what is refused. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { type Problem, Refusal } from "./engine";

export interface Answer<Result> {
  result?: Result;
  pending: boolean;
  problems: Problem[];
}

/** Asks anew whenever the signals that `asked` reads change; an answer that came too late is dropped. */
export function answering<Result>(asked: () => Promise<Result>): ReadonlySignal<Answer<Result>> {
  const answer = signal<Answer<Result>>({ pending: true, problems: [] });
  let turn = 0;
  effect(() => {
    turn += 1;
    const own = turn;
    const told = asked();
    answer.value = { ...answer.peek(), pending: true };
    told.then(
      (result) => {
        if (own === turn) answer.value = { result, pending: false, problems: [] };
      },
      (error: Error) => {
        if (own === turn) answer.value = { pending: false, problems: problemsOf(error) };
      },
    );
  });
  return answer;
}

function problemsOf(error: Error): Problem[] {
  return error instanceof Refusal ? error.problems : [{ message: error.message, help: "", path: "" }];
}
