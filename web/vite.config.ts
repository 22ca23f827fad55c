import { defineConfig } from "vite";

// a relative base: the same folder is served from a domain's root and from any path below it
export default defineConfig({
  base: "./",
  build: { target: "es2022", sourcemap: false },
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
