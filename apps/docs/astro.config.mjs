import { cpSync } from "node:fs";
import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";
import starlightLinksValidator from "starlight-links-validator";
import starlightLlmsTxt from "starlight-llms-txt";

/** Copies the playground, which its own package builds, into the site. */
const withPlayground = {
  name: "playground",
  hooks: {
    "astro:build:done": ({ dir }) =>
      cpSync(new URL("../playground/build/site", import.meta.url), new URL("playground", dir), { recursive: true }),
  },
};

const group = (label, directory) => ({ label, collapsed: true, items: [{ autogenerate: { directory } }] });

// biome-ignore lint/style/noDefaultExport: Astro loads the default export.
export default defineConfig({
  site: "https://centella.github.io",
  integrations: [
    starlight({
      title: "Centella",
      description: "Text from GGUF models and tensors, in TypeScript, in Node and in the browser",
      social: [{ icon: "github", label: "GitHub", href: "https://github.com/centella/centella" }],
      plugins: [
        starlightLlmsTxt({
          customSets: [
            { label: "Guides", description: "how to use Centella, with programs that run", paths: ["index", "guides/**", "migrate/**"] },
            { label: "Examples", description: "whole apps to copy", paths: ["examples", "examples/**"] },
            { label: "Packages", description: "options, limits and errors of each package", paths: ["packages/**"] },
            { label: "API", description: "every export with its types", paths: ["api", "api/**"] },
          ],
          promote: ["index", "guides/**"],
          // The abridged documentation is what users of the packages read first.
          exclude: ["api", "api/**", "architecture", "architecture/**", "comparison/**", "contributing"],
        }),
        starlightLinksValidator({ exclude: ["/playground/"] }),
      ],
      sidebar: [
        {
          label: "Guides",
          items: [
            "guides/node",
            "guides/page",
            "guides/react",
            "guides/frameworks",
            "guides/structured-output",
            "guides/tools",
            "guides/serving",
            "guides/backends",
            "guides/performance",
            "guides/memory",
            "guides/errors",
          ],
        },
        group("Migrate", "migrate"),
        group("Examples", "examples"),
        group("Packages", "packages"),
        group("API", "api"),
        group("Comparison", "comparison"),
        group("Architecture", "architecture"),
        { label: "Playground", link: "/playground/" },
      ],
    }),
    withPlayground,
  ],
});
