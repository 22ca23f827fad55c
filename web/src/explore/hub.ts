/** A config.json from the hub, fetched by the browser itself. */

const ID = /^[\w.-]+(?:\/[\w.-]+)?$/;

const REFUSED: Record<number, string> = {
  401: "there is no such repository, or it is private or gated: open its config.json on the hub, and paste it here",
  403: "the repository is private or gated: open its config.json on the hub, and paste it here",
  404: "the repository has no config.json on its main branch",
  429: "the hub asks for some patience: too many requests",
};

const UNREACHED =
  "the hub gives this page no answer: the device is offline, the repository is private, " +
  "or something blocks the request; paste its config.json here";

/** The id in what was typed: as it is, or in the address of its page. */
export function idIn(typed: string): string {
  return typed.trim().replace(/^https:\/\/huggingface\.co\/([^/]+\/[^/?#]+).*$/, "$1");
}

/** The text of a repository's config.json. Rejects with a sentence for people where there is none to be had. */
export async function fetchedConfig(id: string): Promise<string> {
  if (!ID.test(id)) throw new Error(`${id || "nothing"} is no hub id: write organisation/name`);
  let response: Response;
  try {
    response = await fetch(`https://huggingface.co/${id}/resolve/main/config.json`);
  } catch {
    throw new Error(`${id}: ${UNREACHED}`);
  }
  if (response.ok) return response.text();
  throw new Error(`${id}: ${REFUSED[response.status] ?? `the hub answers ${response.status}`}`);
}
