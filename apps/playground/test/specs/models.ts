import { readFile } from "node:fs/promises";
import { readGguf } from "@centella/gguf";
import { describe, expect, test } from "vitest";
import { checkLooks, fill, modelReady, openProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

export function describeModels(setting: () => Setting): void {
  describe("Models", () => {
    test("shows what is stored and what is in a file, and saves a copy with other metadata", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      await profile.context.addInitScript(() => {
        Reflect.deleteProperty(globalThis, "showSaveFilePicker");
      });
      const page = await profile.open("models?backend=wasm");
      await modelReady(page);
      expect(await page.getByTestId("quota").textContent()).toMatch(/^[\d.]+ [MkGT]?B of [\d.]+ [MGT]?B used$/);
      await page.getByRole("button", { name: "Inspect the loaded model" }).click();
      expect(await page.getByTestId("facts").textContent()).toBe("llama · Q4_K_M · 20,978,176 parameters · 13.0 MB · 4.90 bits per weight");
      await fill(page.getByLabel("Keys that contain"), "general.");
      expect(await page.getByRole("textbox", { name: "general.sampling.temp" }).inputValue(), "f32").toBe("0.7");
      await fill(page.getByRole("textbox", { name: "general.name" }), "Edited");
      await page.getByRole("button", { name: "Remove general.sampling.temp" }).click();
      await page.getByText("2 changes").waitFor();
      await checkLooks(page, "models");
      await fill(page.getByLabel("Tensors whose names contain"), "token_embd");
      expect(await page.getByRole("row", { name: /token_embd\.weight/ }).textContent()).toContain("4096 × 512");
      expect(profile.problems).toEqual([]);
      // Playwright hears of no downloads from Firefox.
      if (setting().browser.browserType().name() === "firefox") return;
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: /^Save a copy/ }).click()]);
      expect(file.suggestedFilename()).toMatch(/-edited\.gguf$/);
      const copy = await readGguf(new Uint8Array(await readFile(await file.path())));
      expect(copy.metadata.string("general.name")).toBe("Edited");
      expect(copy.metadata.has("general.sampling.temp")).toBe(false);
      expect(copy.metadata.has("general.sampling.penalty_repeat")).toBe(true);
      expect(copy.tensors.length).toBeGreaterThan(50);
    });
  });
}
