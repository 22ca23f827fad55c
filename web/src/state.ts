/** The page's state as signals, all of it in the address, so that a link reproduces the page. */
import { batch, effect, type Signal, signal } from "@preact/signals";
import { packed, unpacked } from "./packing";
import { isRecord, like, oneOf, type Read } from "./shapes";

/** A model: the name of a class or model type, or a config's text and label; the class; overridden fields. */
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

/** A signal of plain data, stored in the address under its name unless it has its initial value. */
export function keep<Value>(name: string, first: Value, read: Read<Value> = like(first)): Signal<Value> {
  const held = signal(first);
  kept.set(name, { held: held as Signal<unknown>, first, otherwise: JSON.stringify(first), read });
  return held;
}

/** True once the address has been read; before that no call is made. */
export const ready = signal(false);

/** The names of values in the address that could not be read, and keep their initial values. */
export const unread = signal<string[]>([]);

/** The names of values too long for the address. */
export const untold = signal<string[]>([]);

const TEXTS = ["name", "text", "label", "architecture"];

/** The source in an address. */
export function sourceIn(given: unknown): Source | undefined {
  if (!isRecord(given)) return undefined;
  const { set, ...texts } = given;
  const known = Object.entries(texts).every(([name, one]) => TEXTS.includes(name) && typeof one === "string");
  const oneModel = (texts.name === undefined) !== (texts.text === undefined);
  return known && oneModel && (set === undefined || isRecord(set)) ? given : undefined;
}

export const view = keep<View>("view", "count", oneOf(VIEWS));
export const source = keep<Source>("source", { name: "GPT2LMHeadModel" }, sourceIn);

/** True if the field for a config is open. */
export const textShown = signal(false);

const LONG = 120; // characters from which a value is compressed
const LONGEST = 100_000; // characters of a value, because browsers limit addresses
const PACKED = "*"; // never starts JSON; alone, it marks a value that was too long
const CALM = 250; // ms without a change before the address is written, because browsers limit the rate

/** A value in an address: its JSON, compressed if it is long. */
async function lettersOf(text: string): Promise<string> {
  if (text.length <= LONG) return text;
  const letters = PACKED + (await packed(text));
  return letters.length > LONGEST ? PACKED : letters;
}

/** The address of a state, from the JSON of each value that differs from its initial one: `#view="tensors"&source=*…`. */
async function written(values: [string, string][]): Promise<string> {
  const parts = new URLSearchParams();
  for (const [name, text] of values) parts.set(name, await lettersOf(text));
  untold.value = [...parts].flatMap(([name, letters]) => (letters === PACKED ? [name] : []));
  return `#${parts}`;
}

/** Parses a value of an address; undefined if invalid. */
async function valueIn(letters: string): Promise<unknown> {
  try {
    return JSON.parse(letters.startsWith(PACKED) ? await unpacked(letters.slice(1)) : letters);
  } catch {
    return undefined;
  }
}

let loads = 0;

/** Reads the state from the address; a later call supersedes an earlier one. */
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

/** A Space shows the page in a frame; this message updates the address of the Space, which people share. */
function tellSpace(hash: string): void {
  if (parent !== window) parent.postMessage({ hash }, "https://huggingface.co");
}

/** The changes that get a history entry: another view or another model, but not each change of a field. */
const step = () =>
  JSON.stringify([view.peek(), source.peek().name, source.peek().label, source.peek().architecture]);

/** Reads the address when it changes, and writes it when the state does. */
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
