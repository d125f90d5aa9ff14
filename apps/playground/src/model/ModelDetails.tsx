import type { ModelInfo } from "@centella/llm";
import type { ReactElement } from "react";
import { text } from "../text/english.ts";
import { formatBytes, formatCount } from "../ui/format.ts";

/** What computes the model and why, folded. */
export function ModelDetails({ info, reasons }: { readonly info: ModelInfo; readonly reasons: readonly string[] }): ReactElement {
  const { backend, device, quantization, contextLength, memory, warnings } = info;
  return (
    <details className="relative text-sm">
      <summary className="list-none rounded-md bg-accent-soft px-2 py-0.5 text-xs font-medium" data-testid="backend">
        {backend} · {quantization}
      </summary>
      <div className="absolute right-0 z-20 mt-2 w-80 max-w-[85vw] space-y-2 rounded-lg border border-line bg-raised p-3 text-xs shadow-lg">
        <p className="font-medium">{device}</p>
        <p>{text.model.memory(formatBytes(memory.weights), formatBytes(memory.cache))}</p>
        <p>{text.model.context(formatCount(contextLength))}</p>
        <p className="font-medium">{text.model.why}</p>
        <ul className="list-disc space-y-1 pl-4 text-muted">
          {[...reasons, ...warnings].map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      </div>
    </details>
  );
}
