// What `pnpm pack` and `pnpm publish` leave out of manifests: entries for this workspace alone.
export const hooks = {
  beforePacking({ devDependencies, scripts: { build, prepack, ...scripts } = {}, ...manifest }) {
    for (const target of Object.values(manifest.exports ?? {})) if (typeof target === "object") delete target["@centella/source"];
    return { ...manifest, scripts };
  },
};
