// The built page in a browser, on a plain static host. One spec for each page of the app.
import { isRequired, launchChromium } from "@centella/test-devices";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Setting } from "./setting.ts";
import { buildSite, serveSite } from "./site.ts";
import { describeAbout } from "./specs/about.ts";
import { describeBench } from "./specs/bench.ts";
import { describeChat } from "./specs/chat.ts";
import { describeModelChoice } from "./specs/choice.ts";
import { describeEmbed } from "./specs/embed.ts";
import { describeModels } from "./specs/models.ts";
import { describeStart } from "./specs/start.ts";
import { describeStructured } from "./specs/structured.ts";
import { describeTokens } from "./specs/tokens.ts";
import { describeTools } from "./specs/tools.ts";
import { describeTrouble } from "./specs/trouble.ts";

const browser = await launchChromium();

describe.skipIf(typeof browser === "string")("playground", () => {
  let setting: Setting | undefined;
  const current = (): Setting => {
    if (setting === undefined) throw new Error("playground: the page is not built yet");
    return setting;
  };
  let remove: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    if (typeof browser === "string") return;
    const site = await buildSite();
    remove = site.remove;
    const host = await serveSite(site.folder);
    setting = {
      browser,
      context: await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] }),
      url: host.url,
      folder: site.folder,
      host,
    };
  });

  afterAll(async () => {
    await setting?.host.close();
    await remove?.();
    if (typeof browser !== "string") await browser.close();
  });

  describeStart(current);
  describeModelChoice(current);
  describeChat(current);
  describeStructured(current);
  describeTools(current);
  describeTokens(current);
  describeEmbed(current);
  describeModels(current);
  describeBench(current);
  describeAbout(current);
  describeTrouble(current);
});

test.runIf(isRequired("webgpu"))("there is a browser", () => {
  expect(browser).toBeTypeOf("object");
});
