import { defineConfig, type Plugin } from "vite";

/** KaTeX's fonts as woff2 alone: what runs the engine reads it. */
const woff2: Plugin = {
  name: "woff2",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("katex.min.css") ? code.replace(/,url\([^)]+\.(woff|ttf)\) format\("\w+"\)/g, "") : undefined,
};

// a relative base: the same folder is served from a domain's root and from any path below it
export default defineConfig({
  base: "./",
  envPrefix: ["VITE_", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY"], // so the page built there links to its source
  build: { target: "es2022", sourcemap: false },
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [woff2],
});
