import { CentellaProvider } from "@centella/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { StoryTeller } from "./StoryTeller.tsx";

const worker = () => new Worker(new URL("./engine.ts", import.meta.url), { type: "module" });

createRoot(document.querySelector("#app")!).render(
  <StrictMode>
    <CentellaProvider worker={worker}>
      <StoryTeller />
    </CentellaProvider>
  </StrictMode>,
);
