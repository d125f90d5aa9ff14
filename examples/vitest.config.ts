import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// The examples run as they are: on the built packages. Their tests use the sources of test helpers.
const conditions = ["@centella/source"];

// What tests start prints plain text, also where the run itself is in colour.
delete process.env.FORCE_COLOR;

// biome-ignore lint/style/noDefaultExport: vitest loads the default export.
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["**/test/**/*.test.ts"],
    maxWorkers: "100%",
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
