/** What there is to choose from: shipped checkpoints, and every class and model type that is described. */
import { computed, type Signal, signal } from "@preact/signals";
import type { Source } from "../state";
import type { Catalogue } from "../types";

/** Something to choose: what it is called, what it belongs to, and what is said beside it. */
export interface Model {
  name: string;
  family: string;
  hint: string;
}

export const CHECKPOINTS = "checkpoints";

const catalogue = signal<Catalogue>({ model_types: [] });
export const checkpoints = signal<Record<string, string>>({});

/** What was written down when the page was packed. */
async function fill<Value>(held: Signal<Value>, name: string): Promise<void> {
  const response = await fetch(new URL(`engine/${name}`, document.baseURI));
  held.value = (await response.json()) as Value;
}

fill(catalogue, "catalogue.json");
fill(checkpoints, "checkpoints.json");

/** The family of a model type: the letters that it begins with, so that `qwen2_vl` is with `qwen3`. */
export function family(modelType: string): string {
  return /^[a-z]+/i.exec(modelType)?.[0] ?? modelType;
}

export const models = computed<Model[]>(() => [
  ...Object.entries(checkpoints.value).map(([name, text]) => ({
    name,
    family: CHECKPOINTS,
    hint: String((JSON.parse(text) as { model_type?: string }).model_type ?? ""),
  })),
  ...catalogue.value.model_types.flatMap(({ model_type, architectures }) =>
    architectures.map((name) => ({ name, family: family(model_type), hint: model_type })),
  ),
]);

/** The models whose names hold all words of a query, those that begin with it first. */
export function found(query: string, all: Model[]): Model[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ name, hint }: Model) => {
    const [own, first] = [name.toLowerCase(), words[0] ?? ""];
    if (own === first || hint === first) return 0;
    if (own.startsWith(first)) return 1;
    return hint.startsWith(first) ? 2 : 3;
  };
  return all
    .filter(({ name, hint }) => words.every((one) => `${name} ${hint}`.toLowerCase().includes(one)))
    .sort((a, b) => rank(a) - rank(b));
}

/** The source that a model's name stands for. */
export function sourceOf({ name, family: kind }: Model): Source {
  const text = kind === CHECKPOINTS ? checkpoints.value[name] : undefined;
  return text === undefined ? { name } : { text, label: name };
}

/** Classes that a source can be counted as, by the model type that they are of: its own, and those of its parts. */
export function classesOf(source: Source): { model_type: string; architectures: string[] }[] {
  const listed = catalogue.value.model_types;
  if (source.name !== undefined) {
    const { name } = source;
    return listed.filter((one) => one.model_type === name || one.architectures.includes(name)).slice(0, 1);
  }
  const types = modelTypes(source.text ?? "");
  return types.flatMap((type) => listed.filter((one) => one.model_type === type && one.architectures.length));
}

function modelTypes(text: string): string[] {
  try {
    const config = JSON.parse(text) as Record<string, unknown>;
    const named = [config, ...Object.values(config)].map(
      (one) => (one as { model_type?: unknown } | null)?.model_type,
    );
    return [...new Set(named.filter((one) => typeof one === "string"))];
  } catch {
    return []; // said where it is counted
  }
}
