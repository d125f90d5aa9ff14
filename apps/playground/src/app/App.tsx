import { type ComponentType, lazy, type ReactElement, Suspense } from "react";
import { ChatPage } from "../chat/ChatPage.tsx";
import { ModelBar } from "../model/ModelBar.tsx";
import { ModelProvider } from "../model/ModelProvider.tsx";
import { text } from "../text/english.ts";
import { Navigation } from "./Navigation.tsx";
import type { PageName } from "./pageNames.ts";
import { loadPage } from "./pages.ts";
import { useRoute } from "./route.ts";

const lazyPage = (name: Exclude<PageName, "chat">): ComponentType => lazy(async () => ({ default: await loadPage[name]() }));

const pages: Readonly<Record<PageName, ComponentType>> = {
  chat: ChatPage,
  structured: lazyPage("structured"),
  tools: lazyPage("tools"),
  tokens: lazyPage("tokens"),
  embed: lazyPage("embed"),
  models: lazyPage("models"),
  bench: lazyPage("bench"),
  about: lazyPage("about"),
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
