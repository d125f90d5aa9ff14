import type { launchChromium } from "@centella/test-devices";

/** A browser, as `launchChromium` returns it. */
export type Browser = Exclude<Awaited<ReturnType<typeof launchChromium>>, string>;

export type BrowserContext = Awaited<ReturnType<Browser["newContext"]>>;

export type Page = Awaited<ReturnType<BrowserContext["newPage"]>>;
