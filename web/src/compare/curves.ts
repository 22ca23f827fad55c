/** Counts curves point by point, so that the engine can answer other calls in between. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { ask, Refusal } from "../engine";
import type { Whole } from "../numbers";
import { gridOf, type Plotted } from "./asked";

/** A curve belongs to A or B, and to one value of the other field. */
export interface Line {
  side: number;
  value: number | undefined;
}

export interface Curves {
  along: number[];
  lines: Line[];
  values: (Whole | null | undefined)[][]; // by curve; null: refused, undefined: not yet counted
  refusals: Map<string, number>; // the number of points by message
  pending: boolean;
}

interface Asked {
  sources: string[];
  plotted: Plotted;
  call: unknown;
}

export const SIDES = ["A", "B"] as const;
const SHOWN_EVERY = 80; // ms

/** Curves that are counted again whenever a signal that `asked` reads changes. */
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
  { sources, plotted, call }: Asked,
  shown: { value: Curves | undefined },
  current: () => boolean,
): Promise<void> {
  const { along, curves } = gridOf(plotted);
  const lines = sources.flatMap((_, side) => curves.map((value) => ({ side, value })));
  const values: Curves["values"] = lines.map(() => []);
  const refusals = new Map<string, number>();
  let last = 0;
  for (const at of along) {
    for (const [rank, { side, value }] of lines.entries()) {
      const fields = { [plotted.field]: at, ...(value === undefined ? {} : { [plotted.other]: value }) };
      const found = await pointOf(["point", sources[side], plotted.quantity, fields, call], (message) => {
        const demand = message.split(", but ")[0] ?? message; // the rest holds the values of one point
        const said = sources.length > 1 ? `${SIDES[side]}: ${demand}` : demand;
        refusals.set(said, (refusals.get(said) ?? 0) + 1);
      });
      if (!current()) return;
      values[rank]?.push(found);
    }
    if (performance.now() - last > SHOWN_EVERY) {
      last = performance.now();
      shown.value = { along, lines, values, refusals, pending: true };
    }
  }
  shown.value = { along, lines, values, refusals, pending: false };
}

async function pointOf([call, ...args]: [string, ...unknown[]], refused: (message: string) => void) {
  try {
    return await ask<Whole>(call, ...args);
  } catch (error) {
    const said = error instanceof Refusal ? error.problems[0]?.message : undefined;
    refused(said ?? String(error));
    return null;
  }
}
