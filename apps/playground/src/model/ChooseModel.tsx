import { type DragEvent, type ReactElement, useEffect, useRef, useState } from "react";
import { text } from "../text/english.ts";
import { Button, Field, inputClass } from "../ui/controls.tsx";
import { HubSearch } from "./HubSearch.tsx";
import { ModelPlan } from "./ModelPlan.tsx";
import { useCurrentModel } from "./ModelProvider.tsx";
import { StoredModels } from "./StoredModels.tsx";
import { embedded, type ModelSource } from "./source.ts";

export interface ChooseModelProps {
  /** The model whose plan is shown first, if any. */
  readonly first?: ModelSource | undefined;
  readonly onClose: () => void;
}

/** Where another model comes from: a hub, an address, this machine's disk, or what is stored already. */
export function ChooseModel({ first, onClose }: ChooseModelProps): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  const { choose } = useCurrentModel();
  const [source, setSource] = useState(first);
  useEffect(() => dialog.current?.showModal(), []);
  const load = (chosen: ModelSource, contextLength?: number): void => {
    onClose();
    void choose(chosen, contextLength);
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby="choose-title"
      onClose={onClose}
      className="m-auto max-h-[90dvh] w-[min(44rem,94vw)] overflow-y-auto rounded-2xl border border-line bg-surface p-5 text-ink backdrop:bg-black/40"
    >
      <div className="space-y-6">
        <div className="flex items-center justify-between gap-4">
          <h2 id="choose-title" className="text-lg font-semibold">
            {text.choose.title}
          </h2>
          <Button kind="quiet" onClick={onClose}>
            {text.common.close}
          </Button>
        </div>
        {source === undefined ? (
          <>
            <HubSearch onChoose={setSource} />
            <Address onChoose={setSource} />
            <LocalFile onChoose={setSource} />
            <StoredModels onChoose={setSource} />
            <Button onClick={() => load(embedded)}>{text.choose.embedded}</Button>
          </>
        ) : (
          <ModelPlan source={source} onLoad={(contextLength) => load(source, contextLength)} onBack={() => setSource(undefined)} />
        )}
      </div>
    </dialog>
  );
}

interface ChooseProps {
  readonly onChoose: (source: ModelSource) => void;
}

function Address({ onChoose }: ChooseProps): ReactElement {
  const [address, setAddress] = useState("");
  return (
    <form
      className="flex items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (address.trim() !== "") onChoose(address.trim());
      }}
    >
      <div className="flex-1">
        <Field label={text.choose.address} hint={text.choose.addressHint}>
          <input className={inputClass} value={address} onChange={({ target }) => setAddress(target.value)} />
        </Field>
      </div>
      <Button type="submit" className="mb-5">
        {text.choose.addressButton}
      </Button>
    </form>
  );
}

function LocalFile({ onChoose }: ChooseProps): ReactElement {
  const [isOver, setIsOver] = useState(false);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(false);
    const file = event.dataTransfer.files[0];
    if (file !== undefined) onChoose(file);
  };
  return (
    <label
      className={`block rounded-xl border border-dashed p-4 text-center text-sm ${isOver ? "border-accent bg-accent-soft" : "border-line"}`}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <span className="block font-medium">{text.choose.drop}</span>
      <span className="mb-2 block text-xs text-muted">{text.choose.dropHint}</span>
      <input
        type="file"
        accept=".gguf"
        className="max-w-full text-xs"
        onChange={({ target }) => {
          const file = target.files?.[0];
          if (file !== undefined) onChoose(file);
        }}
      />
    </label>
  );
}
