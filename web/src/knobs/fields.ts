/** The model's fields: their values in the config, their current values, and those that a count reads. */
import { computed, signal } from "@preact/signals";
import { answering } from "../answer";
import { ask, askLatest } from "../engine";
import { source, view } from "../state";
import type { FieldValue } from "../types";

/** An answer with its config, so that an answer for another config is ignored. */
interface Of<Result> {
  config: string;
  found: Result;
}

const CALM = 300; // ms without a change before the formula is computed, which is slower than a drag

const looked = computed(() => view.value === "knobs");
export const base = computed(() => JSON.stringify({ ...source.value, set: undefined }));
const calm = signal({ config: "", text: "" });
let timer = 0;

source.subscribe((shown) => {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    calm.value = { config: base.peek(), text: JSON.stringify(shown) };
  }, CALM);
});

async function of<Result>(config: string, answer: Promise<Result>): Promise<Of<Result>> {
  return { config, found: await answer };
}

export const atConfig = answering(() =>
  looked.value ? of(base.value, ask<FieldValue[]>("fields", base.value)) : undefined,
);

export const atSet = answering(() =>
  looked.value ? of(base.value, askLatest<FieldValue[]>("fields", JSON.stringify(source.value))) : undefined,
);

export const entering = answering(() =>
  looked.value && calm.value.text
    ? of(calm.value.config, askLatest<string[]>("entering", calm.value.text))
    : undefined,
);

/** The config.json with the user's changes. */
export const completed = answering(() =>
  looked.value && calm.value.text
    ? of(calm.value.text, askLatest<string>("completed", calm.value.text))
    : undefined,
);

/** Returns true if a count reads a field, or might read it while that is not known. */
export function enters({ field, types }: FieldValue, known: string[] | undefined): boolean {
  return known ? known.includes(field) : !types.includes("any"); // only costs read those
}

/** Sets a field, or resets it if the value is undefined. */
export function turn(field: string, value: unknown): void {
  const { set: before, ...rest } = source.value;
  const set = { ...before };
  delete set[field]; // keeps the last changed field last
  if (value !== undefined) set[field] = value;
  source.value = Object.keys(set).length ? { ...rest, set } : rest;
}
