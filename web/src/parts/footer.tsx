/** What the page runs, and where there is more to read, as far as its place knows. */
import { answering } from "../answer";
import { ask } from "../engine";

interface Versions {
  archspec: string;
  transformers: string;
}

const versions = answering(() => ask<Versions>("versions"));

// the site that has the page as a part of it says so in its head; alone, there is none
const documentation = document.querySelector<HTMLLinkElement>('link[rel="help"]')?.href;

// known where GitHub's runners build it
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = import.meta.env;

export function Footer() {
  const known = versions.value.result;
  return (
    <footer>
      {known ? (
        <span>
          archspec {known.archspec}, which describes transformers {known.transformers}
        </span>
      ) : null}
      {documentation ? <a href={documentation}>Documentation</a> : null}
      {repository ? <a href={`${server}/${repository}`}>Source</a> : null}
    </footer>
  );
}
