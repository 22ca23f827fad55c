/** The counts and modules of the model shown. */
import { effect } from "@preact/signals";
import { answering } from "./answer";
import { askLatest } from "./engine";
import { keep, source } from "./state";
import type { Counted } from "./types";

/** The dtype of bytes; the config's if empty. */
export const dtype = keep("dtype", "");

export const counted = answering(() =>
  askLatest<Counted>("count", JSON.stringify(source.value), dtype.value),
);

const untitled = document.title;

effect(() => {
  const { result, problems } = counted.value;
  const { label } = source.peek();
  const named = [label, result?.counts.architecture].filter(Boolean).join(", ");
  document.title = result && !problems.length ? `${named} · archspec` : untitled;
});
