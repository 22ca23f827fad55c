/** Loads KaTeX with the first formula. */
import katex from "katex";
import "katex/dist/katex.min.css";

export const rendered = (latex: string): string => katex.renderToString(latex, { throwOnError: false });
