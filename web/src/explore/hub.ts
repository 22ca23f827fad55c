/** A config.json from the hub, fetched by the browser itself. */
import { type Signal, signal } from "@preact/signals";
import type { Source } from "../state";
import { type Found, found, modelsAndHub, HUB as OF_HUB } from "./models";

/** A file of a repository of the hub. */
export interface HubFile {
  id: string;
  revision: string;
  path: string;
}

const HUB = "https://huggingface.co";
const SITE = /^(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co)\//;
const NAME = "\\w[\\w.-]*";
const FILE = new RegExp(`^(${NAME}(?:/${NAME})?)(?:/(tree|blob|resolve|raw)/([^/]+)(?:/(.*))?)?$`);
const NO_MODELS = /^(?:datasets|spaces|api)\//;

const REFUSED: Record<number, string> = {
  401: "there is no such repository, or it is private or gated: open its config.json on the hub, and paste it here",
  403: "the repository is private or gated: open its config.json on the hub, and paste it here",
  404: "the repository has no config.json there",
  429: "the hub asks for some patience: too many requests",
};

const UNREACHED =
  "the hub gives this page no answer: the device is offline, the repository is private, " +
  "or something blocks the request; paste its config.json here";

/** The config.json that is meant by an id, or by the address of a repository, a revision, a folder, or the file. */
export function fileIn(typed: string): HubFile | undefined {
  const asked = typed
    .trim()
    .replace(SITE, "")
    .replace(/[?#].*$/, "")
    .replace(/\/+$/, "");
  const [, id, kind, revision = "main", below = ""] = FILE.exec(asked) ?? [];
  if (id === undefined || NO_MODELS.test(id)) return undefined;
  const folder = kind === "tree" && below ? `${below}/` : "";
  return { id, revision, path: below.endsWith(".json") ? below : `${folder}config.json` };
}

/** What a file is called: its repository, and what else is not as usual. */
export function labelOf({ id, revision, path }: HubFile): string {
  return id + (revision === "main" ? "" : ` @ ${revision}`) + (path === "config.json" ? "" : ` / ${path}`);
}

const addressOf = ({ id, revision, path }: HubFile, how: "resolve" | "blob") =>
  `${HUB}/${id}/${how}/${revision}/${path}`;

/** The text of a file. Rejects with a sentence for people where there is none to be had. */
async function fetched(file: HubFile): Promise<string> {
  let response: Response;
  try {
    response = await fetch(addressOf(file, "resolve"));
  } catch {
    throw new Error(UNREACHED);
  }
  if (response.ok) return response.text();
  throw new Error(REFUSED[response.status] ?? `the hub answers ${response.status}`);
}

/** How the last attempt goes: what is said of it, and where the file can be looked at. */
export interface Attempt {
  told: string;
  refused: boolean;
  page?: string;
}

/** A place that models of the hub are fetched for: how the last attempt goes, and another one. */
export interface FromHub {
  attempt: Signal<Attempt>;
  show: (typed: string) => Promise<void>;
}

/** Gives a place the model of an id or an address of the hub; of two attempts, the later one's. */
export function fromHub(take: (source: Source) => void): FromHub {
  const attempt = signal<Attempt>({ told: "", refused: false });
  let attempts = 0;
  async function show(typed: string): Promise<void> {
    attempts += 1;
    const own = attempts;
    const file = fileIn(typed);
    if (!file) {
      const told = `${typed.trim() || "nothing"} is no hub id of a model: write organisation/name`;
      attempt.value = { told, refused: true };
      return;
    }
    const label = labelOf(file);
    attempt.value = { told: `fetching ${label} …`, refused: false };
    try {
      const text = await fetched(file);
      if (own !== attempts) return;
      take({ text, label });
      attempt.value = { told: "", refused: false };
    } catch (error) {
      if (own !== attempts) return;
      const told = `${label}: ${(error as Error).message}`;
      attempt.value = { told, refused: true, page: addressOf(file, "blob") };
    }
  }
  return { attempt, show };
}

/** What fits a query; an id or an address of the hub is offered as it is typed. */
export function offered(query: string): Found {
  const fitting = found(query, modelsAndHub.value);
  const file = query.includes("/") ? fileIn(query) : undefined;
  if (!file || fitting.models.some(({ name }) => name === file.id)) return fitting;
  const typed = { name: labelOf(file), family: OF_HUB, hint: "its config.json is fetched", typed: query };
  return { models: fitting.missed.length ? [typed] : [typed, ...fitting.models], missed: [] };
}
