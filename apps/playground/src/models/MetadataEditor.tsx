import type { MetadataEntry } from "@centella/gguf";
import { type ReactElement, useState } from "react";
import { text } from "../text/english.ts";
import { Button, Field, inputClass, Scroll, tableClass } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatCount } from "../ui/format.ts";
import { useTask } from "../ui/useTask.ts";
import { type Edits, shownValue } from "./edits.ts";
import type { OpenedFile } from "./openedFile.ts";
import { saveCopy } from "./saveCopy.ts";

/** The metadata of a file. Changes go to a copy of it. */
export function MetadataEditor({ opened, name }: { readonly opened: OpenedFile; readonly name: string }): ReactElement {
  const [filter, setFilter] = useState("");
  const [edits, setEdits] = useState<Edits>({});
  const { start, result: isSaved, error, isRunning } = useTask<boolean>();
  const { metadata } = opened.file;
  const entries = [...metadata.keys()].filter((key) => key.includes(filter)).flatMap((key) => metadata.entry(key) ?? []);
  const count = Object.keys(edits).length;
  const save = (): void =>
    start(async () => {
      await saveCopy(opened, edits, name.replace(/(\.gguf)?$/, "-edited.gguf"));
      return true;
    });
  const change = (key: string, value: string | null | undefined): void => {
    const { [key]: _, ...others } = edits;
    setEdits(value === undefined ? others : { ...others, [key]: value });
  };
  return (
    <div className="space-y-3">
      <h3 className="font-medium">{text.models.metadata}</h3>
      <Field label={text.models.filterMetadata}>
        <input className={inputClass} value={filter} onChange={({ target }) => setFilter(target.value)} />
      </Field>
      <Scroll label={text.models.metadata}>
        <table className={tableClass}>
          <thead>
            <tr>
              <th scope="col">{text.models.key}</th>
              <th scope="col">{text.models.type}</th>
              <th scope="col">{text.models.value}</th>
            </tr>
          </thead>
          <tbody className="font-mono text-xs">
            {entries.map((entry) => (
              <Row key={entry.key} entry={entry} edit={edits[entry.key]} onChange={(value) => change(entry.key, value)} />
            ))}
          </tbody>
        </table>
      </Scroll>
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <Button kind="primary" disabled={count === 0 || isRunning} onClick={save}>
          {isRunning ? text.common.running : text.models.saveCopy}
        </Button>
        <span role="status" className="text-muted">
          {isSaved === true ? text.models.saved : count === 0 ? text.models.noChanges : text.models.changes(formatCount(count))}
        </span>
      </div>
      {error !== undefined && <ErrorNote error={error} />}
    </div>
  );
}

interface RowProps {
  readonly entry: MetadataEntry;
  readonly edit: string | null | undefined;
  /** Null removes the key, undefined takes a change back. */
  readonly onChange: (value: string | null | undefined) => void;
}

function Row({ entry, edit, onChange }: RowProps): ReactElement {
  const { key, type } = entry;
  const value = shownValue(entry);
  const isRemoved = edit === null;
  return (
    <tr className={isRemoved ? "text-muted line-through" : ""}>
      <th scope="row" className="font-normal">
        {key}
      </th>
      <td>{type}</td>
      <td className="flex min-w-72 items-center gap-2">
        {type === "array" ? (
          <span className="min-w-0 flex-1 break-all">{value}</span>
        ) : (
          <input
            className={`${inputClass} py-1 font-mono text-xs`}
            aria-label={key}
            disabled={isRemoved}
            value={edit ?? value}
            onChange={({ target }) => onChange(target.value === value ? undefined : target.value)}
          />
        )}
        <Button
          kind="quiet"
          className="min-h-7 px-2 py-0"
          aria-label={edit === undefined ? text.models.remove(key) : text.models.restore(key)}
          onClick={() => onChange(edit === undefined ? null : undefined)}
        >
          <span aria-hidden="true">{edit === undefined ? "×" : "↺"}</span>
        </Button>
      </td>
    </tr>
  );
}
