// Writes all pages of the site to src/content/docs: the guides with their snippets, Markdown files of the repository, and the API.
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { writeApi } from "./api.mjs";
import { pageOf, pages, root } from "./pages.mjs";
import { fillSnippets } from "./snippets.mjs";

const repository = "https://github.com/centella/centella";
const content = join(root, "apps/docs/src/content/docs");

/** Where a link of a file leads on the site; files that are no pages are on GitHub. @throws if there is no such file */
function linkFrom(file, path, hash) {
  const found = normalize(path.startsWith("/") ? path.slice(1) : join(dirname(file), path)).replace(/\/$/, "");
  const page = pageOf(found);
  if (page !== undefined) return `/${page === "index" ? "" : `${page}/`}${hash}`;
  if (!existsSync(join(root, found))) throw new Error(`${file}: expected a file at ${path}, got none`);
  return `${repository}/${/\.(png|svg)$/.test(found) ? "raw" : "blob"}/main/${found}${hash}`;
}

/** Replaces the relative links outside of code: `link` gets the path and what follows from the `#` on. */
function withLinks(text, link) {
  return text
    .split(/(^```[\s\S]*?^```$|`[^`\n]+`)/m)
    .map((part, i) =>
      i % 2 === 1
        ? part
        : part.replaceAll(/(\]\()(?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))/g, (_, before, path, hash = "") => before + link(path, hash)),
    )
    .join("");
}

/** Writes a page whose text begins with its title. */
function writePage(page, text, { link, front = {} }) {
  const [, title, body] = /^# (.*)\n([\s\S]*)$/.exec(text) ?? [];
  if (title === undefined) throw new Error(`${page}: expected a title on the first line, got ${text.slice(0, 40)}`);
  const fields = Object.entries({ title: title.replaceAll("`", ""), ...front }).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`);
  const path = join(content, `${page}.md`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `---\n${fields.join("")}---\n${withLinks(body, link)}`);
}

function writeFiles() {
  for (const [file, page] of pages) {
    const text = readFileSync(join(root, file), "utf8");
    writePage(page, file.startsWith("apps/docs/") ? fillSnippets(file, text) : text, {
      link: (path, hash) => linkFrom(file, path, hash),
      front: { editUrl: `${repository}/edit/main/${file}` },
    });
  }
}

async function writeApiPages() {
  const folder = mkdtempSync(join(tmpdir(), "centella-api-"));
  await writeApi(folder);
  for (const file of globSync("**/*.md", { cwd: folder })) {
    // Paths of the site have no capital letters.
    const pageAt = (path) => join("api", path.replace(/(^|\/)README\.md$|\.md$/, "")).toLowerCase();
    const page = pageAt(file);
    const link = (path, hash) => `/${pageAt(join(dirname(file), path))}/${hash}`;
    const text = readFileSync(join(folder, file), "utf8");
    writePage(page, file === "README.md" ? text.replace("# centella", "# API") : text, { link });
  }
  rmSync(folder, { recursive: true });
}

rmSync(content, { recursive: true, force: true });
writeFiles();
await writeApiPages();
