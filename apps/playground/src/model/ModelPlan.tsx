import { type ReactElement, useEffect, useState } from "react";
import { text } from "../text/english.ts";
import { Button, Field, inputClass } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatBytes, formatCount } from "../ui/format.ts";
import { useTask } from "../ui/useTask.ts";
import { type Plan, readPlan } from "./readPlan.ts";
import { labelOf, type ModelSource } from "./source.ts";

interface ModelPlanProps {
  readonly source: ModelSource;
  readonly onLoad: (contextLength: number) => void;
  readonly onBack: () => void;
}

/** What a model takes, from its header, before it is downloaded. */
export function ModelPlan({ source, onLoad, onBack }: ModelPlanProps): ReactElement {
  const { start, result: plan, error } = useTask<Plan>();
  useEffect(() => start((signal) => readPlan(source, signal)), [start, source]);
  return (
    <section className="space-y-4">
      <h3 className="font-medium break-all">{labelOf(source)}</h3>
      {error !== undefined && <ErrorNote error={error} />}
      {plan === undefined && error === undefined && (
        <p role="status" className="text-sm text-muted">
          {text.plan.reading}
        </p>
      )}
      {plan !== undefined && <Figures plan={plan} onLoad={onLoad} />}
      <Button kind="quiet" onClick={onBack}>
        {text.plan.back}
      </Button>
    </section>
  );
}

/** Context that a model gets unless the user says otherwise. */
const usualContext = 4096;

function Figures({ plan, onLoad }: { readonly plan: Plan; readonly onLoad: (contextLength: number) => void }): ReactElement {
  const longest = plan.trainedContext ?? usualContext;
  const [contextLength, setContextLength] = useState(Math.min(longest, usualContext));
  const memory = plan.estimate(contextLength);
  const isTooLarge = !plan.isStored && plan.freeBytes !== undefined && plan.fileBytes > plan.freeBytes;
  const rows: readonly (readonly [string, string | undefined])[] = [
    [text.plan.name, plan.name ?? undefined],
    [text.plan.architecture, plan.architecture ?? undefined],
    [text.plan.quantization, plan.quantization],
    [text.plan.parameters, formatCount(plan.parameters)],
    [text.plan.fileSize, formatBytes(plan.fileBytes)],
    [text.plan.weights, memory && formatBytes(memory.weightBytes)],
    [text.plan.cache, memory && formatBytes(memory.cacheBytes)],
    [text.plan.memory, memory && formatBytes(memory.totalBytes)],
    [text.plan.free, plan.freeBytes === undefined ? undefined : formatBytes(plan.freeBytes)],
  ];
  return (
    <div className="space-y-4">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 text-sm" data-testid="plan">
        {rows.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name} className="contents">
                <dt className="text-muted">{name}</dt>
                <dd className="break-words tabular-nums">{value}</dd>
              </div>
            ),
        )}
      </dl>
      <Field label={text.plan.context}>
        <input
          type="number"
          className={inputClass}
          min={1}
          max={longest}
          value={contextLength}
          onChange={({ target }) => setContextLength(Math.min(longest, Math.max(1, target.valueAsNumber || 1)))}
        />
      </Field>
      {!plan.isSupported && <ErrorNote error={text.plan.unsupported(plan.architecture ?? text.common.none)} />}
      {isTooLarge && <ErrorNote error={text.plan.quota(formatBytes(plan.freeBytes ?? 0))} />}
      <Button kind="primary" disabled={!plan.isSupported || isTooLarge} onClick={() => onLoad(contextLength)}>
        {plan.isStored ? text.model.load : text.plan.start(formatBytes(plan.fileBytes))}
      </Button>
    </div>
  );
}
