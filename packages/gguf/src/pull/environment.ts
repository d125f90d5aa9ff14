interface HostProcess {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly versions?: { readonly node?: string };
}

function hostProcess(): HostProcess | undefined {
  return (globalThis as { readonly process?: HostProcess }).process;
}

/** Whether Node's modules are there (bundlers give browsers a `process` too). */
export function isNode(): boolean {
  return hostProcess()?.versions?.node !== undefined;
}

/** A variable of the environment; undefined in browsers, and where it is empty. */
export function environment(name: string): string | undefined {
  return hostProcess()?.env?.[name] || undefined;
}
