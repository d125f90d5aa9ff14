import { describe, expect, test } from "vitest";
import { disableTimers, modelReady, modelReadyInTheEnd, openProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";
import { serveSite } from "../site.ts";

/** Bytes that the page may take, compressed, until a model can be used. Models do not count. */
const maxStartBytes = 450_000;

export function describeStart(setting: () => Setting): void {
  describe("start", () => {
    test("shows a text before any other file is there", async () => {
      await using profile = await openProfile(setting().browser, setting().url, { javaScriptEnabled: false });
      const page = await profile.open("chat");
      await page.getByText("Models run in this browser").waitFor();
      expect(await page.locator("link[rel=stylesheet]").count()).toBe(0);
      expect(await page.evaluate(() => getComputedStyle(document.body).fontFamily)).toContain("sans-serif");
    });

    test("downloads little before the first interaction", async () => {
      const host = await serveSite(setting().folder);
      try {
        await using profile = await openProfile(setting().browser, host.url, { serviceWorkers: "allow" });
        // The page downloads the rest at the first interaction, or after this time.
        await disableTimers(profile, 10_000);
        const page = await profile.open("chat");
        await modelReady(page);
        const bytes = [...host.sent.values()].reduce((sum, size) => sum + size, 0);
        expect(bytes, [...host.sent].map(([path, size]) => `${path}: ${size}`).join("\n")).toBeLessThan(maxStartBytes);
      } finally {
        await host.close();
      }
    });
  });
}

export function describeOffline(setting: () => Setting): void {
  test("becomes isolated and works offline from the second visit on, with threads", async () => {
    const host = await serveSite(setting().folder);
    await using profile = await openProfile(setting().browser, host.url, { serviceWorkers: "allow" });
    try {
      const page = await profile.open("about");
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
      await modelReadyInTheEnd(page);
      expect(await page.getByTestId("backend").textContent()).toContain("wasm");
      await page.keyboard.press("Tab");
      await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
      await host.close();
      await page.reload();
      await modelReadyInTheEnd(page);
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
      expect(await page.getByRole("row", { name: /^Threads/ }).textContent()).toContain("yes");
      await page.getByRole("link", { name: "Chat" }).click();
      await page.getByRole("button", { name: /little fox/ }).click();
      await page.locator("[data-role=assistant] .prose-answer", { hasText: /\w+ \w+/ }).waitFor();
      expect(profile.problems.filter((problem) => !/ERR_CONNECTION_REFUSED/.test(problem))).toEqual([]);
    } finally {
      await host.close();
    }
  });
}
