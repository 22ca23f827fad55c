/** LaTeX as KaTeX sets it, with MathML for screen readers; lines break where there is no room. */
import { signal } from "@preact/signals";

const katex = signal<typeof import("./katex") | undefined>(undefined);

async function load(): Promise<void> {
  try {
    katex.value = await import("./katex");
  } catch {
    // the LaTeX stays as it is
  }
}

export function Tex({ latex }: { latex: string }) {
  if (!katex.value) {
    void load();
    return <code>{latex}</code>;
  }
  const html = katex.value.rendered(`\\displaystyle ${latex}`);
  return <span class="math" dangerouslySetInnerHTML={{ __html: html }} />;
}
