import type { StoredModel } from "@centella/gguf";
import { type ReactElement, useEffect } from "react";
import { text } from "../text/english.ts";
import { Button } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatBytes } from "../ui/format.ts";
import { useTask } from "../ui/useTask.ts";
import { labelOf } from "./source.ts";
import { removeStored, storedModels } from "./storage.ts";

interface StoredModelsProps {
  readonly onChoose: (source: string) => void;
  readonly onInspect?: (source: string) => void;
}

/** The models that this browser stores. */
export function StoredModels({ onChoose, onInspect }: StoredModelsProps): ReactElement {
  const { start, result, error } = useTask<readonly StoredModel[]>();
  useEffect(() => start(storedModels), [start]);
  const remove = (source: string): void =>
    start(async () => {
      await removeStored(source);
      return storedModels();
    });
  return (
    <section className="space-y-2">
      <h3 className="text-sm font-medium">{text.choose.stored}</h3>
      {error !== undefined && <ErrorNote error={error} />}
      {result?.length === 0 && <p className="text-sm text-muted">{text.choose.noStored}</p>}
      <ul className="space-y-1">
        {result?.map(({ source, bytes }) => (
          <li key={source} className="flex flex-wrap items-center gap-2 text-sm">
            <span className="min-w-0 flex-1 truncate">{labelOf(source)}</span>
            <span className="text-xs text-muted tabular-nums">{formatBytes(bytes)}</span>
            {onInspect !== undefined && <Button onClick={() => onInspect(source)}>{text.models.inspect}</Button>}
            <Button onClick={() => onChoose(source)}>{text.model.load}</Button>
            <Button kind="danger" onClick={() => remove(source)} aria-label={text.models.delete(labelOf(source))}>
              {text.common.delete}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
