import { fileURLToPath } from "node:url";
import { describeInChromium } from "@centella/test-devices/browserTests";
import { expect, test } from "vitest";
import { pageRows } from "../src/pages/rows.ts";
import { measureRows } from "../src/runner/measure.ts";

const tiny = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));
const once = { passes: 1, rounds: 1, sampleSeconds: 0, warmupSeconds: 0, warmupCalls: 1 };

describeInChromium("pnpm bench pages", (browser) => {
  test("measures prompts, decoding and first visits in pages", async () => {
    await using measured = await pageRows(browser, ["centella"], [tiny], [1]);
    const rows = await measureRows(measured.rows, once);
    expect(rows.map(({ row }) => row.id)).toEqual([
      "fable-tiny-q8_0 pp128, 1 thread",
      "fable-tiny-q8_0 tg32, 1 thread",
      "fable-tiny-q8_0 load, 1 thread",
      "fable-tiny-q8_0 load and first token, 1 thread",
    ]);
    // `--visits` measures the cold rows.
    expect(rows.map(({ row }) => row.isCold)).toEqual([false, false, true, true]);
    const seconds = rows.map(({ outcomes: [first] }) => {
      const { outcome } = first!;
      if (outcome.status !== "measured") throw new Error(outcome.reason);
      return outcome.passes[0]![0]!;
    });
    for (const value of seconds) expect(value).toBeGreaterThan(0);
    expect(seconds[3]).toBeGreaterThan(seconds[2]!);
  });
});
