import { CentellaProvider, type UsedModel, useModel } from "@centella/react";
import { createContext, type ReactElement, type ReactNode, useContext, useMemo, useState } from "react";
import { setParams, useRoute } from "../app/route.ts";
import type { BackendChoice } from "../workers/backends.ts";
import { embedded, type ModelSource } from "./source.ts";

/** The model that all pages use, and how to change it. */
export interface CurrentModel extends UsedModel {
  readonly source: ModelSource;
  /** Whether the user has said that it may be downloaded. */
  readonly isApproved: boolean;
  readonly backendChoice: BackendChoice;
  /** Frees the model and loads another one. */
  readonly choose: (source: ModelSource, contextLength?: number) => Promise<void>;
  readonly chooseBackend: (backend: BackendChoice) => void;
}

const Context = createContext<CurrentModel | undefined>(undefined);

export function useCurrentModel(): CurrentModel {
  const model = useContext(Context);
  if (model === undefined) throw new Error("useCurrentModel: expected a ModelProvider above the component, got none");
  return model;
}

/** Loads the model that the address names, in an engine with the backends that it names. */
export function ModelProvider({ children }: { readonly children: ReactNode }): ReactElement {
  const { params } = useRoute();
  const backend = backendOf(params.get("backend"));
  return (
    <CentellaProvider key={backend} worker={() => startEngine(backend)}>
      <LoadedModel backend={backend}>{children}</LoadedModel>
    </CentellaProvider>
  );
}

function LoadedModel({ backend, children }: { readonly backend: BackendChoice; readonly children: ReactNode }): ReactElement {
  const { params } = useRoute();
  const [file, setFile] = useState<File>();
  const [approved, setApproved] = useState<ModelSource>(embedded);
  const source = file ?? params.get("model") ?? embedded;
  const contextLength = Number(params.get("context")) || undefined;
  // What a link names is downloaded when the user says so.
  const used = useModel(source, { lazy: source !== approved, ...(contextLength !== undefined && { contextLength }) });
  const current = useMemo(
    (): CurrentModel => ({
      ...used,
      source,
      isApproved: source === approved,
      backendChoice: backend,
      async choose(next, length) {
        // Two models at once may be more than the memory takes.
        await used.unload();
        setFile(typeof next === "string" ? undefined : next);
        setApproved(next);
        const name = typeof next === "string" && next !== embedded ? next : undefined;
        setParams({ model: name, context: length === undefined ? undefined : String(length) });
      },
      chooseBackend: (next) => setParams({ backend: next === "auto" ? undefined : next }),
    }),
    [used, source, approved, backend],
  );
  return <Context value={current}>{children}</Context>;
}

function backendOf(name: string | null): BackendChoice {
  return name === "webgpu" || name === "wasm" ? name : "auto";
}

function startEngine(backend: BackendChoice): Worker {
  return new Worker(new URL("../workers/engine.ts", import.meta.url), { type: "module", name: backend });
}
