import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { offline } from "./vite/offline.ts";
import { securityPolicy } from "./vite/securityPolicy.ts";
import { shell } from "./vite/shell.tsx";

// The page is built from the sources of the packages, so that it needs no build of them.
const conditions = ["@centella/source", "module", "browser"];

/** With these headers a page may have threads. The server of the built files may lack them: the service worker adds them then. */
const isolation = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

// biome-ignore lint/style/noDefaultExport: Vite loads the default export.
export default defineConfig({
  // Relative, so that the files work in any folder of a static host.
  base: "./",
  plugins: [react(), tailwindcss(), securityPolicy(), shell(), offline()],
  resolve: { conditions },
  // One file for all that a worker needs from its start: pages preload files ahead of their imports, workers do not.
  worker: { format: "es", rolldownOptions: { output: { codeSplitting: { groups: [{ name: "start", tags: ["$initial"] }] } } } },
  // All styles are in the HTML, so that no script waits for a file of them.
  build: { outDir: "build/site", target: "es2023", chunkSizeWarningLimit: 700, cssCodeSplit: false },
  server: { headers: isolation },
  preview: { headers: isolation },
});
