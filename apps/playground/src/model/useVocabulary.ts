import { type Remote, wrap } from "comlink";
import { useEffect, useState } from "react";
import type { ModelVocabulary } from "../workers/vocabulary.ts";
import { useCurrentModel } from "./ModelProvider.tsx";
import { storedInput } from "./storage.ts";

/** The vocabulary and chat template of the current model, once it is loaded. */
export interface OpenVocabulary {
  readonly vocabulary: Remote<ModelVocabulary> | undefined;
  readonly error: unknown;
}

/** Opens the vocabulary of the current model in a worker, which ends with the component. */
export function useVocabulary(): OpenVocabulary {
  const { source, model } = useCurrentModel();
  const [opened, setOpened] = useState<OpenVocabulary>({ vocabulary: undefined, error: undefined });
  const isLoaded = model !== undefined;
  useEffect(() => {
    if (!isLoaded) return undefined;
    const worker = new Worker(new URL("../workers/vocabulary.ts", import.meta.url), { type: "module" });
    const vocabulary = wrap<ModelVocabulary>(worker);
    let isOver = false;
    const show = (next: OpenVocabulary): void => {
      if (!isOver) setOpened(next);
    };
    storedInput(source)
      .then((input) => vocabulary.open(input))
      .then(
        () => show({ vocabulary, error: undefined }),
        (error: unknown) => show({ vocabulary: undefined, error }),
      );
    return () => {
      isOver = true;
      worker.terminate();
      setOpened({ vocabulary: undefined, error: undefined });
    };
  }, [source, isLoaded]);
  return opened;
}
