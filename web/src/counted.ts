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

effect(() => {
  const counts = counted.value.result?.counts;
  if (counts) document.title = `${counts.architecture} · archspec`;
});
