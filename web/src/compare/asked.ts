/** The model to compare with, and the plot to draw. */
import { like } from "../shapes";
import { keep, type Source, sourceIn } from "../state";

export const QUANTITIES = {
  params: "parameters",
  active_params: "active parameters",
  non_embedding_params: "non-embedding parameters",
  bytes: "bytes of the parameters",
  flops: "FLOPs of the forward pass",
  cache_bytes: "bytes of the cache",
} as const;
export type Quantity = keyof typeof QUANTITIES;

/** A quantity over a field, with one curve per typed value of another field; with `both`, for B as well. */
export interface Plotted {
  quantity: Quantity;
  field: string;
  first: number;
  last: number;
  step: number;
  other: string;
  values: string;
  log: boolean;
  both: boolean;
}

const SAMPLE: Plotted = {
  quantity: "params",
  field: "",
  first: 1,
  last: 1,
  step: 1,
  other: "",
  values: "",
  log: false,
  both: false,
};

export const other = keep<Source | null>("other", null, sourceIn);
export const forms = keep("forms", false);
const plottedIn = like(SAMPLE, { quantity: Object.keys(QUANTITIES) });
export const plotted = keep<Plotted | null>("plot", null, (given) => {
  const found = plottedIn(given);
  return found && found.step > 0 ? found : undefined; // a step must be positive
});

export const MOST_POINTS = 200;
export const MOST_CURVES = 6;

/** From a quarter to twice the field's value, in steps that keep most of its divisors. */
export function around(own: number): { first: number; last: number; step: number } {
  const step = Math.max(1, Math.round(own / 16));
  return { first: own > 16 ? 4 * step : 1, last: Math.max(2 * own, 4), step };
}

/** The points along the field, and the values of the other one; `undefined` without another one. */
export function gridOf(asked: Plotted): { along: number[]; curves: (number | undefined)[] } {
  const along: number[] = [];
  const { first, last, step } = asked;
  for (let at = first; at <= last && along.length < MOST_POINTS; at += step) along.push(at);
  const { taken } = valuesIn(asked.values);
  return { along, curves: asked.other && taken.length ? taken : [undefined] };
}

/** Splits a text into the values to draw, and those left out: not whole numbers, or beyond the limit of curves. */
export function valuesIn(text: string): { taken: number[]; unread: string[]; beyond: number[] } {
  const typed = text.split(",").flatMap((one) => one.trim() || []);
  const isWhole = (one: string) => Number.isSafeInteger(Number(one));
  const whole = [...new Set(typed.filter(isWhole).map(Number))];
  return {
    taken: whole.slice(0, MOST_CURVES),
    unread: typed.filter((one) => !isWhole(one)),
    beyond: whole.slice(MOST_CURVES),
  };
}
