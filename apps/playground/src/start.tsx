import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App.tsx";
import { keepOffline } from "./offline/register.ts";

// Zod, which the AI SDK uses, would try `new Function` otherwise. The page's policy refuses that, and browsers report each attempt.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

const root = document.querySelector("#root");
if (root === null) throw new Error("main: expected an element #root, got none");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
keepOffline();
