/** A config.json from the hub, fetched by the browser itself. */

const ID = /^[\w.-]+(?:\/[\w.-]+)?$/;

const REFUSED: Record<number, string> = {
  401: "there is no such repository, or it is private or gated: open its config.json on the hub, and paste it here",
  403: "the repository is private or gated: open its config.json on the hub, and paste it here",
  404: "the repository has no config.json on its main branch",
  429: "the hub asks for some patience: too many requests",
};

/** The text of a repository's config.json. Rejects with a sentence for people where there is none to be had. */
export async function fetchedConfig(id: string): Promise<string> {
  if (!ID.test(id)) throw new Error(`${id || "nothing"} is no hub id: write organisation/name`);
  let response: Response;
  try {
    response = await fetch(`https://huggingface.co/${id}/resolve/main/config.json`);
  } catch {
    throw new Error(
      `${id}: the hub cannot be reached: this device is offline, or something blocks the request`,
    );
  }
  if (response.ok) return response.text();
  throw new Error(`${id}: ${REFUSED[response.status] ?? `the hub answers ${response.status}`}`);
}
