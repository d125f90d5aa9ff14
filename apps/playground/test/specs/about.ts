import { describe, expect, test } from "vitest";
import { checkLooks, modelReady, openProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

export function describeAbout(setting: () => Setting): void {
  describe("About", () => {
    test("says what the browser offers, and what follows", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open("about");
      const isolation = page.getByRole("row", { name: /Cross-origin isolation/ });
      await isolation.waitFor();
      expect(await isolation.textContent()).toContain("no");
      expect(await page.getByRole("row", { name: /WebAssembly SIMD/ }).textContent()).toContain("yes");
      await page.getByText("maxStorageBufferBindingSize").waitFor();
      await modelReady(page);
      await checkLooks(page, "about");
      expect(profile.problems).toEqual([]);
    });

    test("fits on a phone, whose navigation shows the page", async () => {
      await using profile = await openProfile(setting().browser, setting().url, { viewport: { width: 360, height: 740 } });
      const page = await profile.open("about");
      await page.getByRole("row", { name: /WebAssembly SIMD/ }).waitFor();
      for (const part of [page.getByRole("link", { name: "About" }), page.getByRole("cell", { name: "Required, and there." })]) {
        const { x, width } = (await part.boundingBox())!;
        expect(x + width).toBeLessThanOrEqual(360);
      }
    });
  });
}
