/** Versions, and links to the docs and the source if they are known. */
import { answering } from "../answer";
import { ask } from "../engine";

interface Versions {
  archspec: string;
  transformers: string;
}

const versions = answering(() => ask<Versions>("versions"));

// set by the documentation site when it includes the page
const documentation = document.querySelector<HTMLLinkElement>('link[rel="help"]')?.href;

// known in builds on GitHub
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
