// Writes a page for each entry of the packages by typedoc, from the declarations that they publish.
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Application, Converter } from "typedoc";
import { root } from "./pages.mjs";

/** Entries of the packages: the file that declares each, what typedoc calls it, and its specifier, such as `@centella/llm/worker`. */
function entries() {
  return globSync("packages/*/package.json", { cwd: root })
    .sort()
    .flatMap((path) => {
      const { name, exports = {}, private: isPrivate } = JSON.parse(readFileSync(join(root, path), "utf8"));
      if (isPrivate) return [];
      const declared = Object.entries(exports).filter(([, { types }]) => types?.endsWith(".d.ts"));
      return declared.map(([entry, { types }]) => {
        const file = join(dirname(path), types);
        return {
          file: join(root, file),
          module: file.replace(/^packages\//, "").replace(/(\/index)?\.d\.ts$/, ""),
          specifier: join(name, entry),
        };
      });
    });
}

/** Writes the pages to a folder. @throws if typedoc finds an error */
export async function writeApi(folder) {
  const all = entries();
  const app = await Application.bootstrapWithPlugins({
    plugin: ["typedoc-plugin-markdown"],
    entryPoints: all.map(({ file }) => file),
    tsconfig: join(root, "apps/docs/tsconfig.typedoc.json"),
    readme: "none",
    outputFileStrategy: "modules",
    excludeScopesInPaths: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    typeAliasPropertiesFormat: "table",
    useHTMLAnchors: true,
    hidePageHeader: true,
    hideBreadcrumbs: true,
    disableSources: true,
    skipErrorChecking: true,
    validation: false,
    logLevel: "Warn",
  });
  const specifiers = new Map(all.map(({ module, specifier }) => [module, specifier]));
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children) module.name = specifiers.get(module.name);
  });
  const project = await app.convert();
  if (project === undefined) throw new Error("typedoc: expected a project, got errors");
  await app.outputs.writeOutput({ name: "markdown", path: folder }, project);
}
