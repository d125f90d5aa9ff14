// The built page in browsers, on a plain static host, with one spec for each page of the app. Playwright does not drive WebKit, the engine
// of Safari, so WebKit has a spec of its own.
//
// Chromium always runs everything. Firefox and WebKit run a sample, and all their tests in the whole grid. All browsers show the same
// pages. What differs is storage, workers and service workers, so the sample has offline visits and stored conversations in both. WebKit
// adds a private window, and Tokens as one page.
import { isWholeGrid } from "@centella/test-devices";
import { describeInChromium, describeInFirefox, describeInWebKit } from "@centella/test-devices/browserTests";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import type { Setting } from "./setting.ts";
import { buildSite, type Host, serveSite } from "./site.ts";
import { describeAbout } from "./specs/about.ts";
import { describeBench } from "./specs/bench.ts";
import { describeChat, describeConversation } from "./specs/chat.ts";
import { describeModelChoice } from "./specs/choice.ts";
import { describeEmbed } from "./specs/embed.ts";
import { describeModels } from "./specs/models.ts";
import { describeInSafari } from "./specs/safari.ts";
import { describeOffline, describeStart } from "./specs/start.ts";
import { describeStructured } from "./specs/structured.ts";
import { describeTokens } from "./specs/tokens.ts";
import { describeTools } from "./specs/tools.ts";
import { describeTrouble } from "./specs/trouble.ts";

let site: Awaited<ReturnType<typeof buildSite>> | undefined;
let host: Host | undefined;

beforeAll(async () => {
  site = await buildSite();
  host = await serveSite(site.folder);
});

afterAll(async () => {
  await host?.close();
  await site?.remove();
});

/** Opens a profile that specs share, and returns what they need once tests run. */
function settingIn(browser: Browser, options: BrowserContextOptions): () => Setting {
  let setting: Setting | undefined;
  beforeAll(async () => {
    if (site === undefined || host === undefined) throw new Error("playground: the page is not built");
    const context = await browser.newContext(options);
    setting = { browser, context, url: host.url, folder: site.folder, host };
  });
  afterAll(() => setting?.context.close());
  return () => {
    if (setting === undefined) throw new Error("playground: the tests have not begun");
    return setting;
  };
}

/** Describes a spec for each page but Chat. */
function describePages(setting: () => Setting): void {
  describeStructured(setting);
  describeTools(setting);
  describeTokens(setting);
  describeEmbed(setting);
  describeModels(setting);
  describeBench(setting);
  describeAbout(setting);
}

describeInChromium("playground in Chromium", (browser) => {
  const setting = settingIn(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  describeStart(setting);
  describeOffline(setting);
  describeModelChoice(setting);
  describeConversation(setting);
  describePages(setting);
  describeChat(setting);
  describeTrouble(setting);
});

// Firefox has no permissions for the clipboard. Under WebDriver, one of ten to forty workers never starts in a page with a service worker.
describeInFirefox("playground in Firefox", (browser) => {
  const setting = settingIn(browser, { serviceWorkers: "block" });
  describeOffline(setting);
  describeConversation(setting);
  // Each night: they take a minute, and Chromium runs the same tests always.
  describe.skipIf(!isWholeGrid)("pages (in the whole grid)", () => describePages(setting));
});

describeInWebKit("playground in WebKit", (browser) => {
  describeInSafari(browser, () => {
    if (site === undefined || host === undefined) throw new Error("playground: the page is not built");
    return { url: host.url, folder: site.folder };
  });
});
