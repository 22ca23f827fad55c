/** Fetches a config.json from the hub in the browser. */
import { type Signal, signal } from "@preact/signals";
import type { Source } from "../state";
import { type Found, found, modelsAndHub, HUB as OF_HUB } from "./models";

/** A file in a repository on the hub. */
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
  401: "the repository does not exist, or is private or gated; open its config.json on the hub and paste it here",
  403: "the repository is private or gated; open its config.json on the hub and paste it here",
  404: "the repository does not contain this config.json",
  429: "too many requests to the hub; try again later",
};

const UNREACHED =
  "the hub does not respond: the device is offline, the repository is private, " +
  "or something blocks the request; paste its config.json here";

/** Finds the config.json of a hub id, or of the URL of a repository, revision, folder or file. */
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

/** The label of a file: its repository, and its revision and folder if not the default. */
export function labelOf({ id, revision, path }: HubFile): string {
  return id + (revision === "main" ? "" : ` @ ${revision}`) + (path === "config.json" ? "" : ` / ${path}`);
}

const addressOf = ({ id, revision, path }: HubFile, how: "resolve" | "blob") =>
  `${HUB}/${id}/${how}/${revision}/${path}`;

/** Fetches the text of a file; rejects with a readable message. */
async function fetched(file: HubFile): Promise<string> {
  let response: Response;
  try {
    response = await fetch(addressOf(file, "resolve"));
  } catch {
    throw new Error(UNREACHED);
  }
  if (response.ok) return response.text();
  throw new Error(REFUSED[response.status] ?? `the hub responded with ${response.status}`);
}

/** The state of the last attempt: a message, and a link to the file. */
export interface Attempt {
  message: string;
  refused: boolean;
  page?: string;
}

/** A loader of hub models: the state of the last attempt, and a function that starts another. */
export interface FromHub {
  attempt: Signal<Attempt>;
  show: (typed: string) => Promise<void>;
}

/** Fetches the model of an id or URL; a later attempt replaces an earlier one. */
export function fromHub(take: (source: Source) => void): FromHub {
  const attempt = signal<Attempt>({ message: "", refused: false });
  let attempts = 0;
  async function show(typed: string): Promise<void> {
    attempts += 1;
    const own = attempts;
    const file = fileIn(typed);
    if (!file) {
      const message = `'${typed.trim()}' is not the hub id of a model; write organization/name`;
      attempt.value = { message, refused: true };
      return;
    }
    const label = labelOf(file);
    attempt.value = { message: `fetching ${label} …`, refused: false };
    try {
      const text = await fetched(file);
      if (own !== attempts) return;
      take({ text, label });
      attempt.value = { message: "", refused: false };
    } catch (error) {
      if (own !== attempts) return;
      const message = `${label}: ${(error as Error).message}`;
      attempt.value = { message, refused: true, page: addressOf(file, "blob") };
    }
  }
  return { attempt, show };
}

/** The matches of a query, and the query itself if it is a hub id or URL. */
export function offered(query: string): Found {
  const fitting = found(query, modelsAndHub.value);
  const file = query.includes("/") ? fileIn(query) : undefined;
  if (!file || fitting.models.some(({ name }) => name === file.id)) return fitting;
  const typed = { name: labelOf(file), family: OF_HUB, hint: "fetches its config.json", typed: query };
  return { models: fitting.missed.length ? [typed] : [typed, ...fitting.models], missed: [] };
}
