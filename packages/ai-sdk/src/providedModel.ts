import { type EngineLoadOptions, type EngineModel, loadEngineModel } from "@centella/llm/engine";
import { checkKeys, isRecord } from "@centella/quant/checks";
import type { GenerationDefaults } from "./centellaOptions.ts";
import { type ModelHandle, unknownAdapter } from "./modelHandle.ts";
import type { AdapterSource, ModelEntry, ModelSource } from "./providerOptions.ts";

/** What the models of a provider share: options of generations, and where models are loaded. */
interface Shared {
  readonly defaults: GenerationDefaults;
  readonly engine: object;
}

/** A model of a provider, plain and with each of its adapters. Each of these is an engine of its own. */
export class ProvidedModel implements ModelHandle {
  readonly id: string;
  readonly defaults: GenerationDefaults;
  readonly #plain: LoadedOnce;
  readonly #adapted: ReadonlyMap<string, LoadedOnce>;

  /** @throws {ArgumentError} for an unknown option of the model */
  constructor(id: string, given: ModelSource, { defaults, engine }: Shared) {
    const entry = isEntry<ModelEntry>(given) ? given : { source: given };
    checkKeys(`createCentella.models.${id}`, entry, ["source", "load", "adapters"]);
    const { source, load = {}, adapters = {} } = entry;
    // A worker refuses what it cannot have.
    const loaded = (more: object): LoadedOnce =>
      new LoadedOnce(() => loadEngineModel(source, { ...load, ...more, ...engine } as EngineLoadOptions));
    this.id = id;
    this.defaults = defaults;
    this.#plain = loaded({});
    this.#adapted = new Map(
      Object.entries(adapters).map(([name, adapter]) => [name, loaded({ adapters: [...(load.adapters ?? []), optionsOf(adapter)] })]),
    );
  }

  async open(adapter?: string): Promise<EngineModel> {
    const chosen = adapter === undefined ? this.#plain : this.#adapted.get(adapter);
    if (chosen === undefined) throw unknownAdapter(adapter, [...this.#adapted.keys()], `name it in the adapters of the model ${this.id}`);
    return chosen.open();
  }

  async unload(): Promise<void> {
    await Promise.all([this.#plain, ...this.#adapted.values()].map((each) => each.unload()));
  }
}

/** An engine that the first call loads, and that later ones wait for. */
class LoadedOnce {
  readonly #load: () => Promise<EngineModel>;
  #model: Promise<EngineModel> | undefined;

  constructor(load: () => Promise<EngineModel>) {
    this.#load = load;
  }

  open(): Promise<EngineModel> {
    if (this.#model === undefined) {
      const loading = this.#load();
      this.#model = loading;
      // A failed load is tried again by the next call.
      loading.catch(() => {
        if (this.#model === loading) this.#model = undefined;
      });
    }
    return this.#model;
  }

  async unload(): Promise<void> {
    const loading = this.#model;
    this.#model = undefined;
    const model = await loading?.catch(() => undefined);
    await model?.dispose();
  }
}

function optionsOf(adapter: AdapterSource): object {
  return isEntry(adapter) ? adapter : { source: adapter };
}

/** Whether it is an object with a source, and no source itself. */
function isEntry<Entry extends { readonly source: unknown }>(given: unknown): given is Entry {
  return isRecord(given) && "source" in given && !("read" in given);
}
