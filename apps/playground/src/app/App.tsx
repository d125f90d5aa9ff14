import { type ComponentType, lazy, type ReactElement, Suspense } from "react";
import { ChatPage } from "../chat/ChatPage.tsx";
import { ModelBar } from "../model/ModelBar.tsx";
import { ModelProvider } from "../model/ModelProvider.tsx";
import { text } from "../text/english.ts";
import { Navigation } from "./Navigation.tsx";
import { type PageName, useRoute } from "./route.ts";

/** The code of a page is downloaded when it is opened, but for that of the first. */
const pages: Readonly<Record<PageName, ComponentType>> = {
  chat: ChatPage,
  structured: lazy(async () => ({ default: (await import("../structured/StructuredPage.tsx")).StructuredPage })),
  tools: lazy(async () => ({ default: (await import("../tools/ToolsPage.tsx")).ToolsPage })),
  tokens: lazy(async () => ({ default: (await import("../tokens/TokensPage.tsx")).TokensPage })),
  embed: lazy(async () => ({ default: (await import("../embed/EmbedPage.tsx")).EmbedPage })),
  models: lazy(async () => ({ default: (await import("../models/ModelsPage.tsx")).ModelsPage })),
  bench: lazy(async () => ({ default: (await import("../bench/BenchPage.tsx")).BenchPage })),
  about: lazy(async () => ({ default: (await import("../about/AboutPage.tsx")).AboutPage })),
};

export function App(): ReactElement {
  const { page } = useRoute();
  const Current = pages[page];
  return (
    <ModelProvider>
      <button
        type="button"
        onClick={() => document.getElementById("content")?.focus()}
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-raised focus:p-3"
      >
        {text.skip}
      </button>
      <div className="flex h-dvh flex-col md:flex-row">
        <Navigation page={page} />
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <ModelBar />
          <main id="content" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto">
            <Suspense fallback={<p className="p-6 text-sm text-muted">{text.common.loadingPage}</p>}>
              <Current />
            </Suspense>
          </main>
        </div>
      </div>
    </ModelProvider>
  );
}
