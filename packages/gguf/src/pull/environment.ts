/** A variable of the environment; undefined in browsers, and where it is empty. */
export function environment(name: string): string | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  return process?.env?.[name] || undefined;
}
