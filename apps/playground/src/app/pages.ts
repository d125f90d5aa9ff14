import type { ComponentType } from "react";
import type { PageName } from "./pageNames.ts";

/** Downloads the code of a page. That of the first is part of the app's. */
export const loadPage: Readonly<Record<Exclude<PageName, "chat">, () => Promise<ComponentType>>> = {
  structured: async () => (await import("../structured/StructuredPage.tsx")).StructuredPage,
  tools: async () => (await import("../tools/ToolsPage.tsx")).ToolsPage,
  tokens: async () => (await import("../tokens/TokensPage.tsx")).TokensPage,
  embed: async () => (await import("../embed/EmbedPage.tsx")).EmbedPage,
  models: async () => (await import("../models/ModelsPage.tsx")).ModelsPage,
  bench: async () => (await import("../bench/BenchPage.tsx")).BenchPage,
  about: async () => (await import("../about/AboutPage.tsx")).AboutPage,
};
