/** The fields of the model that is shown: at its config, as they follow from what is set, and which enter the count. */
import { computed, signal } from "@preact/signals";
import { answering } from "../answer";
import { ask, askLatest } from "../engine";
import { source, view } from "../state";
import type { FieldValue } from "../types";

/** An answer with the config that it is of: with another one at hand it says nothing. */
interface Of<Result> {
  config: string;
  found: Result;
}

const CALM = 300; // ms: a formula takes longer than the hand that turns a knob

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

async function of<Result>(config: string, told: Promise<Result>): Promise<Of<Result>> {
  return { config, found: await told };
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

/** The config.json of the model with what is set. */
export const completed = answering(() =>
  looked.value && calm.value.text
    ? of(calm.value.text, askLatest<string>("completed", calm.value.text))
    : undefined,
);

/** Whether a field enters the count; as long as that is not known, whether it may. */
export function enters({ field, types }: FieldValue, known: string[] | undefined): boolean {
  return known ? known.includes(field) : !types.includes("any"); // costs alone read those
}

/** Sets a field, or leaves it to the config again. */
export function turn(field: string, value: unknown): void {
  const { set: before, ...rest } = source.value;
  const set = { ...before };
  delete set[field]; // so that the one that was turned last is the last
  if (value !== undefined) set[field] = value;
  source.value = Object.keys(set).length ? { ...rest, set } : rest;
}
