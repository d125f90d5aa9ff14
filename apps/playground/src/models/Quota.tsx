import { type ReactElement, useEffect } from "react";
import { text } from "../text/english.ts";
import { Button, Section } from "../ui/controls.tsx";
import { formatBytes } from "../ui/format.ts";
import { useTask } from "../ui/useTask.ts";

interface StorageState {
  readonly usage: number;
  readonly quota: number;
  readonly isPersistent: boolean;
}

async function storageState(): Promise<StorageState> {
  const { usage = 0, quota = 0 } = await navigator.storage.estimate();
  return { usage, quota, isPersistent: await navigator.storage.persisted() };
}

/** How much this page stores, how much it may, and whether the browser may remove it. */
export function Quota(): ReactElement {
  const { start, result } = useTask<StorageState>();
  useEffect(() => start(storageState), [start]);
  const persist = (): void =>
    start(async () => {
      await navigator.storage.persist();
      return storageState();
    });
  return (
    <Section title={text.models.storage}>
      {result !== undefined && (
        <div className="space-y-2 text-sm">
          <progress
            className="h-2 w-full accent-(--accent)"
            value={result.usage}
            max={Math.max(1, result.quota)}
            aria-label={text.models.storage}
          />
          <p data-testid="quota">{text.models.used(formatBytes(result.usage), formatBytes(result.quota))}</p>
          <p className="flex flex-wrap items-center gap-3 text-muted">
            {result.isPersistent ? text.about.features.persistent.yes : text.about.features.persistent.no}
            {!result.isPersistent && <Button onClick={persist}>{text.models.persist}</Button>}
          </p>
        </div>
      )}
    </Section>
  );
}
