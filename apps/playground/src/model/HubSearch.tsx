import type { HubRepository } from "@centella/gguf/search";
import { type ReactElement, useState } from "react";
import { text } from "../text/english.ts";
import { Button, Field, inputClass } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatBytes, formatCount } from "../ui/format.ts";
import { useTask } from "../ui/useTask.ts";

interface HubSearchProps {
  readonly onChoose: (source: string) => void;
}

/** Looks for GGUF models on Hugging Face. */
export function HubSearch({ onChoose }: HubSearchProps): ReactElement {
  const [query, setQuery] = useState("");
  const { start, result, error, isRunning } = useTask<readonly HubRepository[]>();
  const search = (): void =>
    start(async (signal) => {
      const { searchHub } = await import("@centella/gguf/search");
      return searchHub(query.trim(), { signal });
    });
  return (
    <div className="space-y-3">
      <form
        className="flex items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (query.trim() !== "") search();
        }}
      >
        <div className="flex-1">
          <Field label={text.choose.search} hint={text.choose.searchHint}>
            <input type="search" className={inputClass} value={query} onChange={({ target }) => setQuery(target.value)} />
          </Field>
        </div>
        <Button type="submit" className="mb-5" disabled={isRunning}>
          {isRunning ? text.common.running : text.choose.searchButton}
        </Button>
      </form>
      {error !== undefined && <ErrorNote error={error} />}
      {result?.length === 0 && <p className="text-sm text-muted">{text.choose.noResults}</p>}
      <ul className="space-y-2">
        {result?.map((repository) => (
          <Repository key={repository.name} repository={repository} onChoose={onChoose} />
        ))}
      </ul>
    </div>
  );
}

function Repository({ repository, onChoose }: HubSearchProps & { readonly repository: HubRepository }): ReactElement {
  const { name, downloads, license, isGated, files } = repository;
  const facts = [text.choose.downloads(formatCount(downloads)), ...(license === undefined ? [] : [text.choose.licence(license)])];
  return (
    <li className="rounded-lg border border-line bg-raised p-3 text-sm">
      <p className="font-medium break-all">{name}</p>
      <p className="text-xs text-muted">{facts.join(" · ")}</p>
      {isGated ? (
        <p className="mt-1 text-xs text-danger">{text.choose.gated}</p>
      ) : (
        <ul className="mt-2 flex flex-wrap gap-1.5">
          {files.map(({ source, path, quantization, bytes }) => (
            <li key={source}>
              <Button className="min-h-7 px-2 py-0.5 text-xs" onClick={() => onChoose(source)}>
                {quantization ?? path}
                {bytes !== undefined && <span className="font-normal text-muted">{formatBytes(bytes)}</span>}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
