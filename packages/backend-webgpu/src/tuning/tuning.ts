import type { Dispatch, DispatchForms } from "../kernels/shared/kernel.ts";
import type { Piece, PlannedDispatch } from "../plan/variant.ts";
import type { TuningStore } from "./store.ts";

/** A dispatch that has other forms. */
export type FormedDispatch = Dispatch & { readonly forms: () => DispatchForms };

export function hasForms(dispatch: Dispatch): dispatch is FormedDispatch {
  return dispatch.forms !== undefined && dispatch.forms().others.length > 0;
}

/** Returns a dispatch in another of its forms. */
export function inForm({ forms, ...dispatch }: FormedDispatch, name: string): Dispatch {
  const { work, form } = forms();
  const other = form(name);
  if (other === undefined) throw new RangeError(`expected a form of ${work}, got ${name}; this is a bug`);
  return {
    ...dispatch,
    code: other.code,
    sizeIn(dims) {
      // A dispatch may be skipped for reasons that its forms do not know.
      const size = dispatch.sizeIn(dims);
      return size.groups === 0 ? size : other.sizeIn(dims);
    },
  };
}

/** The forms that are the fastest on a device, as far as they are known. */
export class Tuning {
  readonly #store: TuningStore;
  readonly #adapter: string;
  /** Names of forms by {@link keyOf}. */
  readonly #chosen = new Map<string, string>();

  /** `adapter` names the adapter and its driver. */
  constructor(store: TuningStore, adapter: string) {
    this.#store = store;
    this.#adapter = adapter;
  }

  /** Equal for dispatches that compute the same with the same text. The text differs with the device's features, and with new kernels. */
  keyOf({ forms, code }: FormedDispatch): string {
    return ["centella webgpu", this.#adapter, forms().work, hashOf(code)].join(" | ");
  }

  /** Reads the chosen forms of dispatches from the store, which may have changed. */
  async read(dispatches: readonly Dispatch[]): Promise<void> {
    const byKey = new Map(dispatches.filter(hasForms).map((dispatch) => [this.keyOf(dispatch), dispatch.forms()]));
    const reading = [...byKey].map(async ([key, { form }]) => {
      const name = await attempt(() => this.#store.get(key));
      if (typeof name === "string" && form(name) !== undefined) this.#chosen.set(key, name);
    });
    await Promise.all(reading);
  }

  /** The name of a dispatch's chosen form; undefined as long as its forms were not timed. */
  chosen(dispatch: FormedDispatch): string | undefined {
    return this.#chosen.get(this.keyOf(dispatch));
  }

  async choose(dispatch: FormedDispatch, name: string): Promise<void> {
    const key = this.keyOf(dispatch);
    this.#chosen.set(key, name);
    await attempt(() => this.#store.set(key, name));
  }

  /** Dispatches in their chosen forms. Equal ones stay equal. */
  inChosenForms<T extends { readonly dispatch: Dispatch }>(calls: readonly T[]): readonly T[] {
    const changed = new Map<Dispatch, Dispatch>();
    return calls.map((call) => {
      const { dispatch } = call;
      if (!hasForms(dispatch)) return call;
      const name = this.chosen(dispatch);
      if (name === undefined || name === dispatch.forms().own) return call;
      const other = changed.get(dispatch) ?? inForm(dispatch, name);
      changed.set(dispatch, other);
      return { ...call, dispatch: other };
    });
  }
}

/** A dispatch of a plan that has other forms. */
export type FormedPlanned = PlannedDispatch & { readonly dispatch: FormedDispatch };

/** The dispatches of weights whose fastest form is not known. */
export function untimed(tuning: Tuning, dispatches: readonly PlannedDispatch[]): readonly FormedPlanned[] {
  const isWanted = (planned: PlannedDispatch): planned is FormedPlanned => {
    const { dispatch, pieces } = planned;
    return pieces.some(isWeight) && hasForms(dispatch) && tuning.chosen(dispatch) === undefined;
  };
  return dispatches.filter(isWanted);
}

/** Whether a binding is of a weight, or of state. */
export function isWeight(piece: Piece): boolean {
  return piece.kind === "operand" && piece.operand.storage.definition.kind === "persistent";
}

/** Calls a store, whose failure is that of a cache. */
async function attempt(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch {
    return undefined;
  }
}

/** 53 bits of a text (cyrb53), in base 36. */
function hashOf(text: string): string {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 2654435761);
    high = Math.imul(high ^ unit, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return (2 ** 32 * (high & 0x1fffff) + (low >>> 0)).toString(36);
}
