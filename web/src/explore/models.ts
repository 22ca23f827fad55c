/** The models to choose from: shipped checkpoints, and all supported classes and model types. */
import { computed } from "@preact/signals";
import listed from "../../data/hub.json";
import { answering } from "../answer";
import type { Source } from "../state";
import type { Catalog } from "../types";

/** An option: its name, its group, and a note. */
export interface Model {
  name: string;
  family: string;
  hint: string;
  typed?: string; // of a hub model: its id or URL
}

/** The matches of a query, and its words that match nothing. */
export interface Found {
  models: Model[];
  missed: string[];
}

export const CHECKPOINTS = "checkpoints";
export const HUB = "checkpoints on the hub";
export const FAMILIES = "families; choose one to see its classes";

/** The catalog written by `engine/pack.py`. */
function written<Value>(name: string) {
  return answering(async (): Promise<Value> => {
    const response = await fetch(new URL(`engine/${name}`, document.baseURI));
    return response.json();
  });
}

const writtenCatalog = written<Catalog>("catalog.json");
const writtenCheckpoints = written<Record<string, string>>("checkpoints.json");
const catalog = computed<Catalog>(() => writtenCatalog.value.result ?? { model_types: [] });
export const checkpoints = computed(() => writtenCheckpoints.value.result ?? {});

/** The family of a model type: its leading letters, so that `qwen2_vl` is next to `qwen3`. */
export function family(modelType: string): string {
  return /^[a-z]+/i.exec(modelType)?.[0] ?? modelType;
}

const shipped = computed<Model[]>(() =>
  Object.entries(checkpoints.value).map(([name, text]) => ({
    name,
    family: CHECKPOINTS,
    hint: String((JSON.parse(text) as { model_type?: string }).model_type ?? ""),
  })),
);

const ofHub = listed.map((name) => ({ name, family: HUB, hint: "fetches its config.json" }));

const described = computed<Model[]>(() => {
  const types = catalog.value.model_types;
  const classes = types.flatMap(({ model_type, architectures }) =>
    architectures.map((name) => ({ name, family: family(model_type), hint: model_type })),
  );
  const sizes = new Map<string, number>();
  for (const one of classes) sizes.set(one.family, (sizes.get(one.family) ?? 0) + 1);
  const families = [...sizes].map(([name, size]) => ({
    name,
    family: FAMILIES,
    hint: size === 1 ? "1 class" : `${size} classes`,
  }));
  return [...families, ...classes];
});

export const modelsAndHub = computed(() => [...shipped.value, ...ofHub, ...described.value]);

const COLLECTIONS = [CHECKPOINTS, HUB, FAMILIES];

/**
 * The models whose names contain all words of a query, prefix matches first; if there are none, the models that
 * contain its first words. Without a query, checkpoints and families.
 */
export function found(query: string, all: Model[]): Found {
  const words = wordsOf(query);
  if (words.length === 0)
    return { models: all.filter(({ family: of }) => COLLECTIONS.includes(of)), missed: [] };
  const single = all.filter((one) => one.family !== FAMILIES);
  for (let kept = words.length; kept > 0; kept--) {
    const models = holding(words.slice(0, kept), single);
    if (models.length) return { models, missed: words.slice(kept) };
  }
  return { models: [], missed: words };
}

const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .split(/[\s/_-]+/)
    .filter(Boolean);

function holding(words: string[], all: Model[]): Model[] {
  const [first = "", whole] = [words[0], words.join("")]; // `gpt-2` is gpt2
  const rank = ({ name, hint }: Model) => {
    if (wordsOf(name).join("") === whole) return 0; // bigscience/bloom before its smaller ones
    const own = name.toLowerCase().replace(/^.*\//, "");
    if ([first, whole].includes(own) || [first, whole].includes(hint)) return 0;
    if (own.startsWith(first)) return 1;
    return hint.startsWith(first) ? 2 : 3;
  };
  return all
    .filter(({ name, hint }) => words.every((one) => `${name} ${hint}`.toLowerCase().includes(one)))
    .sort((a, b) => rank(a) - rank(b));
}

/** The source of a named model. */
export function sourceOf({ name, family: kind }: Model): Source {
  const text = kind === CHECKPOINTS ? checkpoints.value[name] : undefined;
  return text === undefined ? { name } : { text, label: name };
}

/** The classes that a source can be counted as, by model type: its own, and those of its parts. */
export function classesOf(source: Source): Catalog["model_types"] {
  const listed = catalog.value.model_types;
  if (source.name !== undefined) {
    const { name } = source;
    return listed.filter((one) => one.model_type === name || one.architectures.includes(name)).slice(0, 1);
  }
  const config = configIn(source.text ?? "");
  if (!config) return []; // the count reports it
  const types = modelTypes(config);
  const known = listed.filter((one) => types.includes(one.model_type) && one.architectures.length);
  known.sort((a, b) => types.indexOf(a.model_type) - types.indexOf(b.model_type));
  return known.length ? known : listed; // without a known model type any class can be chosen
}

function configIn(text: string): object | undefined {
  try {
    const config: unknown = JSON.parse(text);
    return config !== null && typeof config === "object" && !Array.isArray(config) ? config : undefined;
  } catch {
    return undefined;
  }
}

function modelTypes(config: object): string[] {
  const named = [config, ...Object.values(config)].map(
    (one) => (one as { model_type?: unknown } | null)?.model_type,
  );
  return [...new Set(named.filter((one) => typeof one === "string"))];
}
