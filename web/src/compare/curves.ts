/** Curves by single counts, a point after another, so that the engine answers others in between. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { ask, Refusal } from "../engine";
import { gridOf, type Plotted } from "./asked";

export interface Curves {
  along: number[];
  curves: (number | undefined)[];
  values: (number | null | undefined)[][]; // by curve; null: refused, undefined: not yet counted
  refusals: Map<string, number>; // how many points each message is said of
  pending: boolean;
}

interface Asked {
  source: string;
  plotted: Plotted;
  call: unknown;
}

const SHOWN_EVERY = 80; // ms

/** Curves that are counted anew whenever the signals that `asked` reads change. */
export function drawing(asked: () => Asked | undefined): ReadonlySignal<Curves | undefined> {
  const shown = signal<Curves | undefined>(undefined);
  let turn = 0;
  effect(() => {
    turn += 1;
    const own = turn;
    const found = asked();
    if (found) void count(found, shown, () => own === turn);
  });
  return shown;
}

async function count(
  { source, plotted, call }: Asked,
  shown: { value: Curves | undefined },
  current: () => boolean,
): Promise<void> {
  const { along, curves } = gridOf(plotted);
  const values: Curves["values"] = curves.map(() => []);
  const refusals = new Map<string, number>();
  let last = 0;
  for (const at of along) {
    for (const [rank, value] of curves.entries()) {
      const fields = { [plotted.field]: at, ...(value === undefined ? {} : { [plotted.other]: value }) };
      const found = await pointOf(["point", source, plotted.quantity, fields, call], refusals);
      if (!current()) return;
      values[rank]?.push(found);
    }
    if (performance.now() - last > SHOWN_EVERY) {
      last = performance.now();
      shown.value = { along, curves, values, refusals, pending: true };
    }
  }
  shown.value = { along, curves, values, refusals, pending: false };
}

async function pointOf([call, ...args]: [string, ...unknown[]], refusals: Map<string, number>) {
  try {
    return await ask<number>(call, ...args);
  } catch (error) {
    const said = error instanceof Refusal ? error.problems[0]?.message : undefined;
    const message = said ?? String(error);
    refusals.set(message, (refusals.get(message) ?? 0) + 1);
    return null;
  }
}
