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

/** Packages whose tests open GPUs, start processes, or measure memory: each file runs in a process of its own. */
const isolated = ["packages/{backend-cuda,backend-wasm,backend-webgpu,cli,test-devices}", "apps/*"];
const shared = ["packages/!(backend-cuda|backend-wasm|backend-webgpu|cli|test-devices)"];
const testsIn = (folders: readonly string[]): string[] => folders.map((folder) => `${folder}/test/**/*.test.ts`);

// biome-ignore lint/style/noDefaultExport: vitest loads the default export.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects: [
      { extends: true, test: { name: "isolated", include: testsIn(isolated) } },
      // Files of these packages share the modules that a worker has loaded, which saves more than half of the time of small ones. Each test puts back
      // the globals and environment variables that it replaces, and closes its backends.
      { extends: true, test: { name: "shared", include: testsIn(shared), isolate: false } },
    ],
    // One for each core. The default leaves a core unused, which takes twice as long on two cores.
    maxWorkers: "100%",
    sequence: { sequencer: SlowFirst },
    // Some tests take a minute of one core's time. How much of it they get depends on what else runs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
