import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Branches } from "../../src/chat/messages.ts";
import { checkLooks, disableTimers, fill, modelReady, openProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

/** Short answers that are the same every time. */
const short = "chat?backend=wasm&temperature=0&repeatPenalty=1&seed=7&maxTokens=12";

async function send(page: Page, message: string): Promise<void> {
  await fill(page.getByLabel("Write a message"), message);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

/** Goes to the other one of the two branches of the first message. */
async function goToBranch(page: Page, direction: "Previous" | "Next"): Promise<void> {
  const button = page.getByRole("button", { name: `${direction} branch` }).first();
  await button.click();
  await expect.poll(() => button.isDisabled()).toBe(true);
}

/** Waits for this number of answers that are over. */
async function answers(page: Page, count: number): Promise<readonly string[]> {
  await expect.poll(() => page.getByTestId("figures").count()).toBe(count);
  return page.locator("[data-role=assistant] .prose-answer").allTextContents();
}

/** The text of the last answer of the branch that the browser keeps of the only conversation. */
function keptAnswer(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const result = <T>(request: IDBRequest<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const database = await result(indexedDB.open("centella-conversations"));
    const [conversation] = await result(database.transaction("conversations").objectStore("conversations").getAll());
    database.close();
    const { headId, messages } = conversation.branches as Branches;
    const { parts } = messages.find(({ message }) => message.id === headId)!.message;
    return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  });
}

export function describeConversation(setting: () => Setting): void {
  describe("Chat", () => {
    test("answers, regenerates, edits, goes through branches, and finds all of it again after a reload", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open(short);
      await page.getByRole("button", { name: /little fox/ }).click();
      const [first] = await answers(page, 1);
      expect(first!.length).toBeGreaterThan(10);
      expect(await page.getByTestId("figures").textContent()).toMatch(
        /tokens\/s · first token after .* · 0 of \d+ prompt tokens .* · seed 7/,
      );

      await send(page, "Go on.");
      await answers(page, 2);
      expect(await page.getByTestId("figures").nth(1).textContent(), "the beginning is in the cache").not.toContain(" 0 of ");

      await page.getByRole("button", { name: "Regenerate" }).last().click();
      await page.getByText("2 of 2").waitFor();
      await answers(page, 2);
      await page.getByRole("button", { name: "Edit" }).first().click();
      await fill(page.getByLabel("Edit"), "Tell me a story about an owl.");
      await page.getByRole("button", { name: "Save and send" }).click();
      const [other] = await answers(page, 1);
      expect(other).not.toBe(first);
      await goToBranch(page, "Previous");
      expect((await answers(page, 2))[0]).toBe(first);

      await goToBranch(page, "Next");
      await answers(page, 1);
      await checkLooks(page, "chat");
      await expect.poll(() => keptAnswer(page)).toContain(other?.trim());
      await expect.poll(() => page.evaluate(snapshotCount)).toBe(1);
      await page.reload();
      expect((await answers(page, 1))[0]).toBe(other);
      await page.getByText(/came back from storage/).waitFor();
      await goToBranch(page, "Previous");
      expect((await answers(page, 2))[0]).toBe(first);
      expect(profile.problems).toEqual([]);
    });
  });
}

export function describeChat(setting: () => Setting): void {
  describe("Chat", () => {
    test("computes nothing of a stored conversation again", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open(short.replace("maxTokens=12", "maxTokens=60"));
      await page.getByRole("button", { name: /little fox/ }).click();
      await answers(page, 1);
      await expect.poll(() => page.evaluate(snapshotCount)).toBe(1);
      await page.reload();
      await page.getByText(/came back from storage/).waitFor();
      await send(page, "Go on.");
      await answers(page, 2);
      const figures = /(\d+) of (\d+) prompt tokens/.exec((await page.getByTestId("figures").nth(1).textContent()) ?? "");
      const [cached, all] = [Number(figures?.[1]), Number(figures?.[2])];
      expect(all - cached, "tokens that were computed").toBeLessThanOrEqual(32 + 8);
      expect(profile.problems).toEqual([]);
    });

    test("stops at once, and keeps what was written", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open("chat?backend=wasm&temperature=0");
      await page.evaluate(stopAtFirstWords);
      await page.getByRole("button", { name: /clockmaker/ }).click();
      await page.locator("body[data-stopped]").waitFor();
      await page.getByRole("button", { name: "Send", exact: true }).waitFor();
      await modelReady(page);
      expect(await page.locator("[data-role=assistant] .prose-answer").textContent()).not.toBe("");
      expect(profile.problems).toEqual([]);
    });

    test("exports Markdown and JSON, and makes a link of the settings", async () => {
      await using profile = await openProfile(setting().browser, setting().url, { permissions: ["clipboard-read", "clipboard-write"] });
      // The page shows "Copied" for this time.
      await disableTimers(profile, 2000);
      const page = await profile.open(short);
      await page.getByRole("button", { name: /little fox/ }).click();
      const [answer] = await answers(page, 1);
      const markdown = await downloaded(page, "Markdown");
      expect(markdown).toMatch(/^## You\n\nTell me a story(.|\n)*\n## Answer\n\n/);
      const { model, settings, messages } = JSON.parse(await downloaded(page, "JSON"));
      expect(model).toMatch(/^fable-.*\.gguf$/);
      expect(settings).toEqual({ temperature: 0, repeatPenalty: 1, seed: 7, maxTokens: 12 });
      expect(messages[1].parts.at(-1).text.trim().slice(0, 10)).toBe(answer!.trim().slice(0, 10));
      await page.getByText("Sampling", { exact: true }).waitFor();
      await fill(page.getByLabel("Top-k"), "5");
      await fill(page.getByLabel("Stop sequences"), "sea\n\\n\\n");
      await page.getByRole("button", { name: /Copy link/ }).click();
      await page.getByText("Copied").waitFor();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      expect(link).toContain("topK=5");
      expect(new URL(link.replace("#/chat", "")).searchParams.get("stop")).toBe("sea\n\\n\\n");
      expect(link).not.toContain("conversation=");
    });

    test("shows what a hostile answer writes as text, and reasoning folded", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open("chat");
      await modelReady(page);
      await page.evaluate(storeConversation, [
        "<img src=x onerror=\"document.title='run'\"> <script>document.title='run'</script> **bold**",
        "[a link](javascript:document.title='run') ![a picture](https://example.com/x.png) [good](https://example.com/)",
      ]);
      await page.goto(`${setting().url}?again#/chat?conversation=hostile`);
      await page.locator("[data-role=assistant] [data-streamdown=strong]", { hasText: "bold" }).waitFor();
      const answer = page.locator("[data-role=assistant]").first();
      expect(await answer.getByText("Hm.").isVisible(), "reasoning is folded").toBe(false);
      await answer.getByText("Reasoning").click();
      await answer.getByText("Hm.").waitFor();
      expect(await answer.locator("img, script, iframe, [onerror]").count()).toBe(0);
      expect(await answer.locator("[href^='javascript:']").count()).toBe(0);
      expect(await page.title()).not.toBe("run");
      expect(profile.problems).toEqual([]);
    });
  });
}

async function downloaded(page: Page, button: string): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button, exact: true }).click()]);
  return readFile(await file.path(), "utf8");
}

/** Presses Stop in the page once an answer has two words. From outside of the page, that may take longer than the rest of the text. */
export function stopAtFirstWords(): void {
  const observer = new MutationObserver(() => {
    const stop = [...document.querySelectorAll("button")].find((button) => button.textContent?.trim() === "Stop");
    const answer = document.querySelector("[data-role=assistant] .prose-answer")?.textContent ?? "";
    if (stop === undefined || !/\w+ \w+/.test(answer)) return;
    observer.disconnect();
    stop.click();
    document.body.dataset.stopped = "";
  });
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
}

/** Number of stored snapshots. Runs in the page. */
export function snapshotCount(): Promise<number> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("centella-snapshots");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      if (!database.objectStoreNames.contains("snapshots")) {
        database.close();
        resolve(0);
        return;
      }
      const counting = database.transaction("snapshots").objectStore("snapshots").count();
      counting.onsuccess = () => {
        database.close();
        resolve(counting.result);
      };
    };
  });
}

/** Stores a conversation whose answer has these paragraphs. Runs in the page. */
function storeConversation(paragraphs: readonly string[]): Promise<void> {
  const message = (id: string, role: string, text: string) => ({ id, role, parts: [{ type: "text", text }] });
  const answer = message("b", "assistant", paragraphs.join("\n\n"));
  const conversation = {
    id: "hostile",
    title: "hostile",
    updatedAt: 1,
    branches: {
      headId: "b",
      messages: [
        { parentId: null, message: message("a", "user", "Hi") },
        { parentId: "a", message: { ...answer, parts: [{ type: "reasoning", text: "Hm." }, ...answer.parts] } },
      ],
    },
  };
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("centella-conversations");
    opening.onupgradeneeded = () => opening.result.createObjectStore("conversations");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const change = opening.result.transaction("conversations", "readwrite");
      change.objectStore("conversations").put(conversation, "hostile");
      change.oncomplete = () => {
        opening.result.close();
        resolve();
      };
    };
  });
}
