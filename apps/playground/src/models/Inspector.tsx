import { type ReactElement, useEffect, useState } from "react";
import { labelOf, type ModelSource } from "../model/source.ts";
import { text } from "../text/english.ts";
import { Field, inputClass, Scroll, tableClass } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatBytes, formatCount } from "../ui/format.ts";
import { useTask } from "../ui/useTask.ts";
import { MetadataEditor } from "./MetadataEditor.tsx";
import { type OpenedFile, openFile } from "./openedFile.ts";

/** What is in a file: its metadata, which can be changed in a copy, and its tensors. */
export function Inspector({ source }: { readonly source: ModelSource }): ReactElement | null {
  const { start, result, error } = useTask<OpenedFile>();
  useEffect(() => start((signal) => openFile(source, signal)), [start, source]);
  useEffect(() => {
    return () => void result?.file.close();
  }, [result]);
  if (error !== undefined) return <ErrorNote error={error} />;
  if (result === undefined) return <p className="text-sm text-muted">{text.plan.reading}</p>;
  const { report } = result;
  const facts = [
    report.architecture ?? text.common.none,
    report.fileType?.name ?? text.common.none,
    text.models.parameters(formatCount(report.parameters)),
    formatBytes(report.fileBytes),
    text.models.bits(report.bitsPerWeight.toFixed(2)),
  ];
  return (
    <div className="space-y-6">
      <div>
        <h3 className="font-medium break-all">{labelOf(source)}</h3>
        <p className="text-sm text-muted" data-testid="facts">
          {facts.join(" · ")}
        </p>
      </div>
      <MetadataEditor opened={result} name={labelOf(source)} />
      <Tensors tensors={report.tensors} />
    </div>
  );
}

/** Rows that are shown at once. */
const maxRows = 200;

function Tensors({ tensors }: { readonly tensors: OpenedFile["report"]["tensors"] }): ReactElement {
  const [filter, setFilter] = useState("");
  const found = tensors.filter(({ name }) => name.includes(filter));
  return (
    <div className="space-y-3">
      <h3 className="font-medium">{text.models.tensors(formatCount(tensors.length))}</h3>
      <Field label={text.models.filterTensors}>
        <input className={inputClass} value={filter} onChange={({ target }) => setFilter(target.value)} />
      </Field>
      <Scroll label={text.models.tensors(formatCount(tensors.length))}>
        <table className={tableClass}>
          <thead>
            <tr>
              <th scope="col">{text.models.tensor}</th>
              <th scope="col">{text.models.type}</th>
              <th scope="col">{text.models.shape}</th>
              <th scope="col">{text.models.bytes}</th>
            </tr>
          </thead>
          <tbody className="font-mono text-xs">
            {found.slice(0, maxRows).map(({ name, type, shape, bytes }) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{type}</td>
                <td>{shape.join(" × ")}</td>
                <td className="whitespace-nowrap">{formatBytes(bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {found.length > maxRows && <p className="text-xs text-muted">{text.models.more(formatCount(found.length - maxRows))}</p>}
    </div>
  );
}
