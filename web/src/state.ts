/** What the page shows, as signals; the address holds all of it, so that a link shows the same to others. */
import { effect, signal } from "@preact/signals";

/** A model: a name (of an architecture, a model type or a shipped checkpoint's text), the class, fields set anew. */
export interface Source {
  name?: string;
  text?: string;
  architecture?: string;
  set?: Record<string, unknown>;
}

export const VIEWS = ["count", "tensors", "formula", "costs", "compare"] as const;
export type View = (typeof VIEWS)[number];

export const source = signal<Source>({ name: "GPT2LMHeadModel" });
export const view = signal<View>("count");

function isView(text: string | null): text is View {
  return VIEWS.includes(text as View);
}

/** The address of a state: `#view=count&source=…`, the source as JSON. */
export function written(shown: Source, at: View): string {
  return `#${new URLSearchParams({ view: at, source: JSON.stringify(shown) })}`;
}

/** The state of an address; undefined for what is none of ours. */
export function read(hash: string): { source: Source; view: View } | undefined {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const [at, text] = [parts.get("view"), parts.get("source")];
  if (!isView(at) || text === null) return undefined;
  try {
    return { source: JSON.parse(text) as Source, view: at };
  } catch {
    return undefined;
  }
}

/** Follows the address, and writes it as the state changes. */
export function followAddress(): void {
  const load = () => {
    const found = read(location.hash);
    if (found) [source.value, view.value] = [found.source, found.view];
  };
  load();
  addEventListener("hashchange", load);
  effect(() => history.replaceState(null, "", written(source.value, view.value)));
}
