import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describeInChromium, runPageTests } from "@centella/test-devices/browserTests";
import { expect, test } from "vitest";

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

describeInChromium("in Chromium", async (browser) => {
  const results = await runPageTests(browser, ["aiSdk.test.ts", "streamParts.test.ts"].map(pathOf), {
    scripts: { serving: pathOf("workers/serving.ts") },
    replaced: { [pathOf("place.ts")]: pathOf("pages/place.ts") },
    files: { "/model.gguf": readFileSync(pathOf("../../model-fable/models/fable-tiny-q8_0.gguf")) },
  });
  test.each(results)("$name", ({ error }) => {
    expect(error).toBeUndefined();
  });
});
