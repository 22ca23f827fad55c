/** What the page shows, as signals; the address holds all of it, so that a link shows the same to others. */
import { batch, effect, type Signal, signal } from "@preact/signals";
import { packed, unpacked } from "./packing";
import { isRecord, like, oneOf, type Read } from "./shapes";

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
  first: unknown;
  otherwise: string;
  read: Read<unknown>;
}

const kept = new Map<string, Kept>();

/** A signal of the state, plain data under a name of its own in the address, unless it is as at first. */
export function keep<Value>(name: string, first: Value, read: Read<Value> = like(first)): Signal<Value> {
  const held = signal(first);
  kept.set(name, { held: held as Signal<unknown>, first, otherwise: JSON.stringify(first), read });
  return held;
}

/** Whether the address has been read: before that nothing is worth asking. */
export const ready = signal(false);

/** The values of the address that could not be read: they are as at first. */
export const unread = signal<string[]>([]);

/** The values that are too long for an address. */
export const untold = signal<string[]>([]);

const TEXTS = ["name", "text", "label", "architecture"];

/** A source that an address gives. */
export function sourceIn(given: unknown): Source | undefined {
  if (!isRecord(given)) return undefined;
  const { set, ...texts } = given;
  const known = Object.entries(texts).every(([name, one]) => TEXTS.includes(name) && typeof one === "string");
  const oneModel = (texts.name === undefined) !== (texts.text === undefined);
  return known && oneModel && (set === undefined || isRecord(set)) ? given : undefined;
}

export const view = keep<View>("view", "count", oneOf(VIEWS));
export const source = keep<Source>("source", { name: "GPT2LMHeadModel" }, sourceIn);

/** Whether the field for a config is open. */
export const textShown = signal(false);

const LONG = 120; // characters from which a value stands compressed in the address
const LONGEST = 100_000; // characters of a value: no browser takes ever longer addresses
const PACKED = "*"; // with which no JSON begins; with nothing behind it, a value that is too long
const CALM = 250; // ms without a change before the address is written: browsers allow few writes a second

/** A value in an address: its JSON, compressed where it is long. */
async function lettersOf(text: string): Promise<string> {
  if (text.length <= LONG) return text;
  const letters = PACKED + (await packed(text));
  return letters.length > LONGEST ? PACKED : letters;
}

/** The address of a state, from the JSON of each value that is not as at first: `#view="tensors"&source=*…`. */
async function written(values: [string, string][]): Promise<string> {
  const parts = new URLSearchParams();
  for (const [name, text] of values) parts.set(name, await lettersOf(text));
  untold.value = [...parts].flatMap(([name, letters]) => (letters === PACKED ? [name] : []));
  return `#${parts}`;
}

/** The value that letters of an address stand for; undefined for none. */
async function valueIn(letters: string): Promise<unknown> {
  try {
    return JSON.parse(letters.startsWith(PACKED) ? await unpacked(letters.slice(1)) : letters);
  } catch {
    return undefined;
  }
}

let loads = 0;

/** Takes the state from the address; of two at the same time, from the later one. */
async function load(): Promise<void> {
  loads += 1;
  const own = loads;
  const given = new Map<string, unknown>();
  for (const [name, letters] of new URLSearchParams(location.hash.slice(1))) {
    given.set(name, await valueIn(letters));
  }
  if (own !== loads) return;
  batch(() => {
    unread.value = [...kept].flatMap(([name, { read }]) =>
      given.has(name) && read(given.get(name)) === undefined ? [name] : [],
    );
    for (const [name, { held, first, read }] of kept) {
      const value = read(given.get(name)) ?? first;
      if (JSON.stringify(held.peek()) !== JSON.stringify(value)) held.value = value;
    }
  });
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
      const own = loads;
      const address = await written(changed);
      if (own !== loads) return;
      tellSpace(address);
      if (address === (location.hash || "#")) return;
      const further = step() !== at;
      if (further) unread.value = [];
      at = step();
      history[further ? "pushState" : "replaceState"](null, "", address);
    }, CALM);
  });
}
