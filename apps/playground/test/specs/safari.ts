import { isWholeGrid } from "@centella/test-devices";
import type { DrivenPage, WebKit } from "@centella/test-devices/browserTests";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { serveSite } from "../site.ts";
import { snapshotCount, stopAtFirstWords } from "./chat.ts";

/** A button that can be pressed. */
const button = (name: string): string => `//button[contains(normalize-space(), "${name}") and not(@disabled)]`;
const byTestId = (name: string): string => `//*[@data-testid="${name}"]`;
const withText = (text: string): string => `//*[contains(text(), "${text}")]`;
const row = (name: string): string => `//tr[contains(normalize-space(), "${name}")]`;
const field = (label: string): string => `//*[@id = //label[starts-with(., "${label}")]/@for]`;
const ready = '//*[@data-testid="model-status"][starts-with(., "ready")]';
const answer = '//*[@data-role="assistant"]//*[contains(@class, "prose-answer")]';

/**
 * WebKitGTK has the handles by which Safari's workers write files by name only: they are refused, and their files stay locked. Without them, the
 * engine writes by streams, as it does where there is no worker.
 */
const workerPrelude = "delete FileSystemFileHandle.prototype.createSyncAccessHandle;\n";

/** A window that is closed with its test. */
type Window = DrivenPage & AsyncDisposable;

async function openWindow(browser: WebKit, isPrivate = false): Promise<Window> {
  const page = await browser.open({ isPrivate });
  return { ...page, [Symbol.asyncDispose]: page.close };
}

/** Each page of the app in WebKitGTK, the engine of Safari. `url` is that of a host of the built page, `folder` has its files. */
export function describeInSafari(browser: WebKit, setting: () => { readonly url: string; readonly folder: string }): void {
  test("becomes isolated, works offline and finds a conversation again from the second visit on", async () => {
    const host = await serveSite(setting().folder, workerPrelude);
    try {
      await using page = await openWindow(browser);
      await page.open(`${host.url}#/chat?temperature=0&seed=7&maxTokens=12`);
      await page.click(button("little fox"));
      await page.waitFor(byTestId("figures"));
      const told = await page.text(answer);
      expect(told.length).toBeGreaterThan(10);
      await page.click(button("Regenerate"));
      await page.waitFor(withText("2 of 2"));
      await page.waitFor(byTestId("figures"));
      await expect.poll(() => page.evaluate(() => location.hash)).toContain("conversation=");
      await expect.poll(() => page.evaluate(snapshotCount)).toBe(1);
      await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
      const bytes = host.modelBytes();
      await host.close();
      await page.reload();
      await page.waitFor(withText("came back from storage"));
      expect(await page.text(answer)).toBe(told);
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
      expect(host.modelBytes()).toBe(bytes);
      await page.open(`${host.url}#/about`);
      expect(await page.text(row("Threads"))).toContain("yes");
      expect(await page.text(row("Storage for models"))).toContain("yes");
    } finally {
      await host.close();
    }
  });

  test("works in a private window, which stores nothing", async () => {
    await using page = await openWindow(browser, true);
    await page.open(`${setting().url}#/about`);
    await page.waitFor(ready);
    expect(await page.text(row("Storage for models"))).toContain("no");
    await page.click('//a[.="Chat"]');
    await page.evaluate(stopAtFirstWords);
    await page.click(button("little fox"));
    await page.waitFor("//body[@data-stopped]");
    await page.waitFor(`//button[.="Send"]`);
  });

  describe("pages", () => {
    let page: DrivenPage;
    beforeAll(async () => {
      page = await browser.open();
    });
    afterAll(() => page.close());
    async function show(title: string): Promise<void> {
      await page.open(`${setting().url}#/${title.toLowerCase()}?backend=wasm`);
      await page.waitFor(`//h1[.="${title}"]`);
      await page.waitFor(ready);
    }

    test("Tokens", async () => {
      await show("Tokens");
      await page.fill(field("Text"), "Once upon a time there was a zyzzyva.");
      await page.waitFor(withText("for 37 characters"));
      await page.click(button("Compute probabilities"));
      await page.waitFor(withText("Perplexity of the text"));
      expect(await page.text(byTestId("rendered"))).toContain("<|user|>");
    });

    // Each night: they take a minute, and Chromium runs tests of these pages always.
    describe.skipIf(!isWholeGrid)("other pages (in the whole grid)", () => {
      // A page is isolated from its second visit on, which limits the frame of Tools. Its first interaction installs the service worker.
      beforeAll(async () => {
        await page.open(`${setting().url}#/about`);
        await page.evaluate(() => {
          dispatchEvent(new Event("keydown"));
          return navigator.serviceWorker.ready.then(() => undefined);
        });
        await page.reload();
        expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
      });

      test("Structured", async () => {
        await show("Structured");
        await page.click(button("Generate"));
        await page.waitFor(withText("Complete: the value is valid"));
        expect(Object.keys(JSON.parse(await page.text(byTestId("value"))))).toEqual(["name", "kind", "age", "virtues"]);
        await page.click("(//ol//button)[1]");
        expect(await page.text(byTestId("allowed"))).toMatch(/tokens? allowed/);
      });

      test("Tools", async () => {
        await show("Tools");
        // On a slow machine, the two seconds that a tool has may be over before its worker starts.
        const { rolls, sum } = await vi.waitFor(async () => {
          await page.click('//button[normalize-space()="Run" and not(@disabled)]');
          return JSON.parse(await page.text(byTestId("tool-result"))) as { readonly rolls: readonly number[]; readonly sum: number };
        }, 60_000);
        expect(sum).toBe(rolls.reduce((a, b) => a + b, 0));
      });

      test("Embed", async () => {
        await show("Embed");
        await page.click(button("Compare"));
        await page.waitFor("//table//tbody//td");
        expect(await page.count("//table//tbody//td")).toBe(16);
        await page.click('//button[normalize-space()="Rank" and not(@disabled)]');
        await page.waitFor(byTestId("ranking"));
      });

      test("Models", async () => {
        await show("Models");
        expect(await page.text(byTestId("quota"))).toMatch(/^[\d.]+ [MkGT]?B of [\d.]+ [MGT]?B used$/);
        await page.click(button("Inspect the loaded model"));
        expect(await page.text(byTestId("facts"))).toContain("20,978,176 parameters");
        await page.fill(field("Tensors whose names contain"), "token_embd");
        expect(await page.text(row("token_embd.weight"))).toContain("4096 × 512");
      });

      test("Bench", async () => {
        await show("Bench");
        await page.fill(field("Prompt tokens"), "32");
        await page.fill(field("Generated tokens"), "8");
        await page.fill(field("Repetitions"), "2");
        await page.click(button("Measure"));
        await page.waitFor(button("Copy as Markdown"));
        expect(await page.text(row("pp32"))).toMatch(/tokens\/s/);
      });
    });
  });
}
