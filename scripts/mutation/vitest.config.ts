import { defineConfig } from "vitest/config";
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
      transform: (code, id) => (file !== undefined && id.endsWith(file) ? code.slice(0, start) + text + code.slice(end) : undefined),
    },
  ],
});
