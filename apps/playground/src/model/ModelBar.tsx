import { type ReactElement, useState } from "react";
import { text } from "../text/english.ts";
import { Button } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatBytes } from "../ui/format.ts";
import { LazyChooseModel } from "./LazyChooseModel.tsx";
import { ModelDetails } from "./ModelDetails.tsx";
import { type CurrentModel, useCurrentModel } from "./ModelProvider.tsx";
import { embedded, labelOf, type ModelSource } from "./source.ts";

/** The model's state, and what can be done about it. */
export function ModelBar(): ReactElement {
  const current = useCurrentModel();
  const [choosing, setChoosing] = useState<{ readonly first?: ModelSource | undefined }>();
  const { status, source, model, error } = current;
  const name = model?.info.name ?? (source === embedded ? text.model.embedded : labelOf(source));
  return (
    <section aria-label={text.model.bar} className="relative space-y-2 border-b border-line bg-raised px-4 py-2">
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1 text-sm leading-snug">
          <p className="truncate font-medium">{name}</p>
          <p className="truncate text-xs text-muted tabular-nums">
            <span role="status" data-testid="model-status">
              {text.model.status[status]}
            </span>
            <Progress current={current} />
          </p>
        </div>
        {model !== undefined && <ModelDetails info={model.info} reasons={current.reasons} />}
        <Actions current={current} onPlan={() => setChoosing({ first: source })} />
        <Button onClick={() => setChoosing({})} aria-label={text.model.change}>
          <span className="hidden sm:inline">{text.model.change}</span>
          <span className="sm:hidden">{text.model.changeShort}</span>
        </Button>
      </div>
      {status === "error" && error !== undefined && <ErrorNote error={error} />}
      {status === "lost" && <ErrorNote error={text.model.lost} />}
      {choosing !== undefined && <LazyChooseModel first={choosing.first} onClose={() => setChoosing(undefined)} />}
    </section>
  );
}

function Actions({ current, onPlan }: { readonly current: CurrentModel; readonly onPlan: () => void }): ReactElement | null {
  const { status, isApproved, load, cancel } = current;
  const start = (): void => void load().catch(() => undefined);
  if (status === "downloading" || status === "loading" || status === "checking")
    return <Button onClick={cancel}>{text.model.pause}</Button>;
  if (status === "idle") return <Button onClick={isApproved ? start : onPlan}>{isApproved ? text.model.resume : text.model.load}</Button>;
  if (status === "error" || status === "lost") return <Button onClick={start}>{text.model.loadAgain}</Button>;
  return null;
}

/** How much is downloaded or loaded: figures, and a line at the edge of the bar. It takes no room, so that nothing moves. */
function Progress({ current: { status, bytes, totalBytes, rate } }: { readonly current: CurrentModel }): ReactElement | null {
  if ((status !== "downloading" && status !== "loading") || totalBytes === undefined) return null;
  const label = text.model.progress(formatBytes(bytes), formatBytes(totalBytes));
  return (
    <>
      {" "}
      <span>{label}</span>
      {rate !== undefined && ` · ${text.model.rate(formatBytes(rate))}`}
      <progress className="absolute inset-x-0 bottom-0 h-0.5 w-full accent-(--accent)" value={bytes} max={totalBytes} aria-label={label} />
    </>
  );
}
