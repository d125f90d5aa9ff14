import type { NextConfig } from "next";

const config: NextConfig = {
  // On the server, the engine and its model are loaded from node_modules.
  serverExternalPackages: ["@centella/ai-sdk", "@centella/backend-wasm", "@centella/core", "@centella/llm", "@centella/model-fable"],
  // With these headers the page may have threads.
  headers: async () => [
    {
      source: "/:path*",
      headers: [
        { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
        { key: "Cross-Origin-Embedder-Policy", value: "require-corp" },
      ],
    },
  ],
};

// biome-ignore lint/style/noDefaultExport: Next loads the default export.
export default config;
