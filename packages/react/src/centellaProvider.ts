import { createContext, createElement, type ReactElement, type ReactNode, useContext, useEffect, useState } from "react";
import type { EngineProps } from "./engine.ts";
import { ModelRegistry } from "./modelRegistry.ts";

const RegistryContext = createContext<ModelRegistry | undefined>(undefined);

/** Properties of {@link CentellaProvider}. They are read when it is mounted; later changes have no effect. */
export interface CentellaProviderProps extends EngineProps {
  /** How long a model stays loaded after the last component that uses it has left, in ms. Default 1000. */
  readonly keepMs?: number;
  readonly children?: ReactNode;
}

/**
 * One engine for a page: the components below it share its models. What the functions `runtime` and `worker` opened ends with it; what was
 * passed in stays its owner's.
 * @throws {ArgumentError} while rendering, without exactly one of `runtime` and `worker`
 */
export function CentellaProvider({ children, keepMs = 1000, ...engine }: CentellaProviderProps): ReactElement {
  const [registry] = useState(() => new ModelRegistry(engine, keepMs));
  useEffect(() => registry.mount(), [registry]);
  return createElement(RegistryContext.Provider, { value: registry }, children);
}

/** @throws {Error} outside of a provider */
export function useRegistry(hook: string): ModelRegistry {
  const registry = useContext(RegistryContext);
  if (registry === undefined) throw new Error(`${hook}: expected a CentellaProvider above the component, got none; wrap the page in one`);
  return registry;
}
