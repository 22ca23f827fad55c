/** What the page shows, as signals; the address holds all of it, so that a link shows the same to others. */
import { batch, effect, type Signal, signal } from "@preact/signals";
import { packed, unpacked } from "./packing";

/** A model: a name of a class or a model type, or a config's text and whose it is; the class; fields set anew. */
export interface Source {
  name?: string;
  text?: string;
  label?: string;
  architecture?: string;
  set?: Record<string, unknown>;
}

export const VIEWS = ["count", "knobs", "tensors", "formula", "costs", "compare"] as const;
export type View = (typeof VIEWS)[number];

interface Kept {
  held: Signal<unknown>;
  otherwise: string;
}

const kept = new Map<string, Kept>();

/** A signal of the state, plain data under a name of its own in the address, unless it is as at first. */
export function keep<Value>(name: string, first: Value): Signal<Value> {
  const held = signal(first);
  kept.set(name, { held: held as Signal<unknown>, otherwise: JSON.stringify(first) });
  return held;
}

/** Whether the address has been read: before that nothing is worth asking. */
export const ready = signal(false);

export const view = keep<View>("view", "count");
export const source = keep<Source>("source", { name: "GPT2LMHeadModel" });

/** Whether the field for a config is open. */
export const textShown = signal(false);

const LONG = 120; // characters from which a value stands compressed in the address
const PACKED = "*"; // with which no JSON begins
const CALM = 250; // ms without a change before the address is written: browsers allow few writes a second

/** The address of a state, from the JSON of each value that is not as at first: `#view="tensors"&source=*…`. */
async function written(values: [string, string][]): Promise<string> {
  const parts = new URLSearchParams();
  for (const [name, text] of values) {
    parts.set(name, text.length > LONG ? PACKED + (await packed(text)) : text);
  }
  return `#${parts}`;
}

async function read(hash: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    found.set(name, text.startsWith(PACKED) ? await unpacked(text.slice(1)) : text);
  }
  return found;
}

async function load(): Promise<void> {
  const found = await read(location.hash).catch(() => new Map<string, string>()); // what is none of ours
  batch(() => {
    for (const [name, { held, otherwise }] of kept) {
      if (JSON.stringify(held.peek()) !== (found.get(name) ?? otherwise)) {
        held.value = parsed(found.get(name)) ?? JSON.parse(otherwise);
      }
    }
    if (!VIEWS.includes(view.value)) view.value = "count";
  });
}

function parsed(text: string | undefined): unknown {
  try {
    return text && JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A Space shows the page in a frame: its own address, which people share, follows where it is told this one. */
function tellSpace(hash: string): void {
  if (parent !== window) parent.postMessage({ hash }, "https://huggingface.co");
}

/** What is worth a step of its own in the history: another view or another model, not each turn of a knob. */
const step = () =>
  JSON.stringify([view.peek(), source.peek().name, source.peek().label, source.peek().architecture]);

/** Follows the address, and writes it as the state changes. */
export async function followAddress(): Promise<void> {
  await load();
  ready.value = true;
  let [at, timer] = [step(), 0];
  addEventListener("popstate", async () => {
    clearTimeout(timer);
    await load();
    at = step();
  });
  effect(() => {
    const values = [...kept].map(([name, { held }]): [string, string] => [name, JSON.stringify(held.value)]);
    const changed = values.filter(([name, text]) => text !== kept.get(name)?.otherwise);
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      const address = await written(changed);
      tellSpace(address);
      if (address === (location.hash || "#")) return;
      const further = step() !== at;
      at = step();
      history[further ? "pushState" : "replaceState"](null, "", address);
    }, CALM);
  });
}
