import { defineConfig } from "vitest/config";
import type {} from "vitest/node";
import base from "../../vitest.config.ts";

/** One edit of one source file, as the environment tells it: what the tests see is not what is on the disk. */
const { file, start, end, text } = JSON.parse(process.env.MUTANT ?? "{}") as { file?: string; start: number; end: number; text: string };

// biome-ignore lint/style/noDefaultExport: vitest loads the default export.
export default defineConfig({
  ...base,
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      // What vitest keeps of transformed modules from run to run is not the mutant's.
      configureVitest({ defineCacheKeyGenerator }) {
        defineCacheKeyGenerator(({ id }) => (file !== undefined && id.endsWith(file) ? false : undefined));
      },
      transform: (code, id) => (file !== undefined && id.endsWith(file) ? code.slice(0, start) + text + code.slice(end) : undefined),
    },
  ],
});
