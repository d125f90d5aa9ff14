import type { Browser } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { launchChromium } from "./chromium.ts";
import { launchFirefox } from "./firefox.ts";
import { isRequired } from "./required.ts";
import { launchWebKit, type WebKit } from "./webkit.ts";

/** Describes tests that use a browser. */
export type DescribeInBrowser<B = Browser> = (name: string, body: (browser: B) => void | Promise<void>) => void;

/** Describes tests that need Chromium. Where it does not run, they are one test that is skipped with the reason, or fails if `REQUIRE_BACKENDS` names webgpu. */
export const describeInChromium: DescribeInBrowser = describeIn("Chromium", () => launchChromium(), isRequired("webgpu"));

/** Describes tests that need Firefox. Where it does not run, they are one test that is skipped with the reason, or fails if `REQUIRE_FIREFOX` is set. */
export const describeInFirefox: DescribeInBrowser = describeIn("Firefox", launchFirefox, process.env.REQUIRE_FIREFOX !== undefined);

/** Describes tests that need WebKitGTK. Where it does not run, they are one test that is skipped with the reason, or fails if `REQUIRE_WEBKIT` is set. */
export const describeInWebKit: DescribeInBrowser<WebKit> = describeIn("WebKit", launchWebKit, process.env.REQUIRE_WEBKIT !== undefined);

function describeIn<B extends { close(): Promise<void> }>(
  title: string,
  launch: () => Promise<B | string>,
  isNeeded: boolean,
): DescribeInBrowser<B> {
  return (name, body) =>
    describe(name, async () => {
      const browser = await launch();
      if (typeof browser === "string") {
        if (isNeeded) test(`${title} is available`, () => expect.fail(browser));
        else test.skip(`${title} is not available: ${browser}`, () => undefined);
        return;
      }
      afterAll(() => browser.close());
      await body(browser);
    });
}
