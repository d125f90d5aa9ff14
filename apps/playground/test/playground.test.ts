// The built page in browsers, on a plain static host. One spec for each page of the app; Firefox runs the first test of each, and WebKit,
// the engine of Safari, has a spec of its own, because Playwright does not drive it.
import { describeInChromium, describeInFirefox, describeInWebKit } from "@centella/test-devices/browserTests";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { newContext } from "./pages.ts";
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
function settingIn(browser: Browser, permissions: readonly string[]): () => Setting {
  let setting: Setting | undefined;
  beforeAll(async () => {
    if (site === undefined || host === undefined) throw new Error("playground: the page is not built");
    const context = await newContext(browser, { permissions: [...permissions] });
    setting = { browser, context, url: host.url, folder: site.folder, host };
  });
  afterAll(() => setting?.context.close());
  return () => {
    if (setting === undefined) throw new Error("playground: the tests have not begun");
    return setting;
  };
}

/** Describes a spec for each page. */
function describePages(setting: () => Setting): void {
  describeConversation(setting);
  describeStructured(setting);
  describeTools(setting);
  describeTokens(setting);
  describeEmbed(setting);
  describeModels(setting);
  describeBench(setting);
  describeAbout(setting);
}

describeInChromium("playground in Chromium", (browser) => {
  const setting = settingIn(browser, ["clipboard-read", "clipboard-write"]);
  describeStart(setting);
  describeOffline(setting);
  describeModelChoice(setting);
  describePages(setting);
  describeChat(setting);
  describeTrouble(setting);
});

// It has no permissions for the clipboard.
describeInFirefox("playground in Firefox", (browser) => {
  const setting = settingIn(browser, []);
  describeOffline(setting);
  describePages(setting);
});

describeInWebKit("playground in WebKit", (browser) => {
  describeInSafari(browser, () => {
    if (site === undefined || host === undefined) throw new Error("playground: the page is not built");
    return { url: host.url, folder: site.folder };
  });
});
