/** The counts and the modules of the model that is shown: most of the page looks at them. */
import { effect } from "@preact/signals";
import { answering } from "./answer";
import { askLatest } from "./engine";
import { keep, source } from "./state";
import type { Counted } from "./types";

/** The dtype that bytes are counted in; the config's own where it is empty. */
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
