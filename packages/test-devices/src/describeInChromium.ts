import type { Browser } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { launchChromium } from "./chromium.ts";
import { isRequired } from "./required.ts";

/** Describes tests that need Chromium. Where it does not run, they are one test that is skipped with the reason, or fails if the device is required. */
export function describeInChromium(name: string, body: (browser: Browser) => void | Promise<void>): void {
  describe(name, async () => {
    const browser = await launchChromium();
    if (typeof browser === "string") {
      if (isRequired("webgpu")) test("Chromium is available", () => expect.fail(browser));
      else test.skip(`Chromium is not available: ${browser}`, () => undefined);
      return;
    }
    afterAll(() => browser.close());
    await body(browser);
  });
}
