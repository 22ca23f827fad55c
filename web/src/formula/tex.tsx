/** LaTeX as KaTeX sets it, with MathML for screen readers; lines break where there is no room. */
import { signal } from "@preact/signals";

const katex = signal<typeof import("./katex") | undefined>(undefined);

export function Tex({ latex }: { latex: string }) {
  if (!katex.value) {
    import("./katex").then((found) => {
      katex.value = found;
    });
    return <code>{latex}</code>;
  }
  const html = katex.value.rendered(`\\displaystyle ${latex}`);
  return <span class="math" dangerouslySetInnerHTML={{ __html: html }} />;
}
