/** The answer shown in a view: the last result, whether another is pending, and errors. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { attempts, type Problem, Refusal } from "./engine";
import { ready } from "./state";

export interface Answer<Result> {
  result?: Result;
  pending: boolean;
  problems: Problem[];
}

/**
 * Calls `asked` again whenever a signal that it reads changes, and drops answers that arrive too late.
 * The last result stays while the view is hidden (`asked` returns undefined) or a call is refused.
 */
export function answering<Result>(asked: () => Promise<Result> | undefined): ReadonlySignal<Answer<Result>> {
  const answer = signal<Answer<Result>>({ pending: true, problems: [] });
  let turn = 0;
  effect(() => {
    if (!ready.value) return;
    attempts.value; // subscribes to retries
    turn += 1;
    const own = turn;
    const pending = asked();
    if (pending === undefined) return;
    answer.value = { ...answer.peek(), pending: true };
    pending.then(
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
