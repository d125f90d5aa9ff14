import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describeInChromium, runPageTests } from "@centella/test-devices/browserTests";
import { expect, test } from "vitest";
import { tiny } from "./place.ts";

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

describeInChromium("in Chromium", async (browser) => {
  const results = await runPageTests(browser, ["polyfill.test.ts", "constraints.test.ts"].map(pathOf), {
    scripts: { serving: pathOf("workers/serving.ts") },
    replaced: { [pathOf("place.ts")]: pathOf("pages/place.ts") },
    files: { "/model.gguf": readFileSync(tiny) },
  });
  test.each(results)("$name", ({ error }) => {
    expect(error).toBeUndefined();
  });
});
