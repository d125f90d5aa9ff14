import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// A page with these headers may have threads; without them, one thread or the GPU computes.
const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

// biome-ignore lint/style/noDefaultExport: Vite loads the default export.
export default defineConfig({
  plugins: [react()],
  server: { headers },
  preview: { headers },
  worker: { format: "es" },
  // The model's file is found next to its module.
  optimizeDeps: { exclude: ["@centella/model-fable"] },
});
