import { type EngineLoadOptions, type EngineModel, loadEngineModel } from "@centella/llm/engine";
import { checkKeys, isRecord } from "@centella/quant/checks";
import type { GenerationDefaults } from "./centellaOptions.ts";
import { type ModelHandle, requireAdapter } from "./modelHandle.ts";
import type { AdapterEntry, AdapterSource, ModelEntry, ModelSource } from "./providerOptions.ts";

/** What the models of a provider share: options of generations, and where models are loaded. */
interface Shared {
  readonly defaults: GenerationDefaults;
  readonly engine: object;
}

/** A model of a provider, whose adapters are loaded with it. */
export class ProvidedModel implements ModelHandle {
  readonly id: string;
  readonly defaults: GenerationDefaults;
  readonly #loaded: LoadedOnce;
  readonly #adapters: readonly string[];

  /** @throws {ArgumentError} for an unknown option of the model */
  constructor(id: string, given: ModelSource, { defaults, engine }: Shared) {
    const entry = isEntry<ModelEntry>(given) ? given : { source: given };
    checkKeys(`createCentella.models.${id}`, entry, ["source", "load", "adapters"]);
    const { source, load = {}, adapters = {} } = entry;
    const named = Object.entries(adapters).map(([name, adapter]) => ({ ...optionsOf(adapter), name }));
    const all = [...(load.adapters ?? []), ...named];
    this.id = id;
    this.defaults = defaults;
    this.#adapters = named.map(({ name }) => name);
    // A worker refuses what it cannot have.
    this.#loaded = new LoadedOnce(() =>
      loadEngineModel(source, { ...load, ...(all.length > 0 && { adapters: all }), ...engine } as EngineLoadOptions),
    );
  }

  async open(adapter?: string): Promise<EngineModel> {
    requireAdapter(adapter, this.#adapters, `name it in the adapters of the model ${this.id}`);
    return this.#loaded.open();
  }

  async unload(): Promise<void> {
    await this.#loaded.unload();
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

function optionsOf(adapter: AdapterSource): AdapterEntry {
  return isEntry<AdapterEntry>(adapter) ? adapter : { source: adapter };
}

/** Whether it is an object with a source, and no source itself. */
function isEntry<Entry extends { readonly source: unknown }>(given: unknown): given is Entry {
  return isRecord(given) && "source" in given && !("read" in given);
}
