/** LaTeX rendered by KaTeX, with MathML for screen readers; long lines wrap. */
import { signal } from "@preact/signals";

const katex = signal<typeof import("./katex") | undefined>(undefined);

async function load(): Promise<void> {
  try {
    katex.value = await import("./katex");
  } catch {
    // keep showing the LaTeX source
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
