import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Tests run on live sources: the custom condition resolves @centella/* to src/, without a build.
const conditions = ["@centella/source"];

/** The slow tests first, so that none of them runs alone at the end. Their files are short, and Vitest begins with the longest. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith(".grid.test.ts");
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

// What tests start prints plain text, also where the run itself is in colour.
delete process.env.FORCE_COLOR;

// biome-ignore lint/style/noDefaultExport: vitest loads the default export.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts"],
    // One for each core. The default leaves a core unused, which takes twice as long on two cores.
    maxWorkers: "100%",
    sequence: { sequencer: SlowFirst },
    // Some tests take a minute of one core's time. How much of it they get depends on what else runs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
