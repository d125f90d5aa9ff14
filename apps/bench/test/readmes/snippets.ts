import { globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

/** A code block of a README. */
export interface Snippet {
  /** The package's folder and the number of the block, from 1: `llm 1`. */
  readonly name: string;
  /** `llm`; `README` for the one of the repository. */
  readonly readme: string;
  readonly code: string;
}

/** Every TypeScript and JavaScript block of the repository's READMEs, each README's from top to bottom. */
export function readSnippets(root: string): readonly Snippet[] {
  return ["README.md", ...globSync("packages/*/README.md", { cwd: root }).sort()].flatMap((path) => {
    const readme = path.split("/").at(-2) ?? "README";
    const blocks = readFileSync(join(root, path), "utf8").matchAll(/^```(?:ts|js)\n([\s\S]*?)^```/gm);
    return [...blocks].map(([, code], index) => ({ name: `${readme} ${index + 1}`, readme, code: code! }));
  });
}

/** Name of a snippet's module, without the extension. */
export function moduleName({ name }: Snippet): string {
  return name.replace(" ", "-");
}

/**
 * Returns the modules of snippets that run in one place, in their order: each imports from the latest one before it what it uses and does not
 * declare, so that they are one program although they declare the same names. The code itself is unchanged.
 */
export function typescriptModules(snippets: readonly Snippet[]): ReadonlyMap<Snippet, string> {
  const imports = snippets.map(({ code }, i) => {
    const own = declaredNames(code);
    const before = new Map<string, Snippet>();
    for (const earlier of snippets.slice(0, i)) for (const name of declaredNames(earlier.code)) before.set(name, earlier);
    return [...before].filter(([name]) => !own.has(name) && uses(code, name));
  });
  return new Map(
    snippets.map((snippet) => {
      const taken = imports[snippets.indexOf(snippet)]!.map(([name, from]) => `import { ${name} } from "./${moduleName(from)}.mts";`);
      const given = new Set(imports.flatMap((names) => names.flatMap(([name, from]) => (from === snippet ? [name] : []))));
      return [snippet, [...taken, snippet.code, `export { ${[...given].join(", ")} };`, ""].join("\n")];
    }),
  );
}

/** A module of {@link typescriptModules} for a Node that runs JavaScript alone. */
export function javascriptModule(module: string): string {
  return stripTypeScriptTypes(module).replaceAll(/(from "\.[\w./-]*\.m?)ts"/g, '$1js"');
}

/** The file that a snippet says it is, in a comment on its first line. */
export function fileName({ code }: Snippet): string | undefined {
  return /^\/\/ (\S+\.[jt]s)\n/.exec(code)?.[1];
}

/** Names that the top level of a snippet declares or imports. */
function declaredNames(code: string): ReadonlySet<string> {
  const lists = [...code.matchAll(/^(?:import|const|let) \{([^}]*)\}/gm)].flatMap(([, list]) => list!.split(","));
  const listed = lists.flatMap((entry) => (/^\s*type /.test(entry) ? [] : (/(\w+)\s*$/.exec(entry)?.[1] ?? [])));
  const single = [...code.matchAll(/^(?:export )?(?:import|const|let|class|(?:async )?function\*?) (\w+)\b(?! \{)/gm)].map(
    ([, name]) => name!,
  );
  return new Set([...listed, ...single]);
}

function uses(code: string, name: string): boolean {
  return new RegExp(`(?<![.\\w"'/-])${name}\\b(?!["':])`).test(code);
}
