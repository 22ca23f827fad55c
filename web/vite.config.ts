import { defineConfig } from "vite";

// a relative base: the same folder is served from a domain's root and from any path below it
export default defineConfig({
  base: "./",
  envPrefix: ["VITE_", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY"], // so the page built there links to its source
  build: { target: "es2022", sourcemap: false },
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
