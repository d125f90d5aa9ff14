import { defineConfig } from "vitest/config";

// Tests run on live sources: the custom condition resolves @centella/* to src/, without a build.
const conditions = ["@centella/source"];

// biome-ignore lint/style/noDefaultExport: vitest loads the default export.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts"],
    // One for each core. The default leaves a core unused, which takes twice as long on two cores.
    maxWorkers: "100%",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
