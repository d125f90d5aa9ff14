import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import type { OutputAsset, OutputBundle } from "rolldown";
import type { Plugin } from "vite";
import { Shell } from "../src/app/Shell.tsx";

/**
 * Makes the HTML show something before any other file is there: it has a first text and the styles, and it names the app's script, which the
 * first script would only ask for when it runs.
 */
export function shell(): Plugin {
  return {
    name: "shell",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle = {} }) {
        const style = styleOf(bundle);
        delete bundle[style.fileName];
        const link = new RegExp(`<link rel="stylesheet"[^>]*${style.fileName}">`);
        const app = Object.values(bundle).find((file) => file.type === "chunk" && file.facadeModuleId?.endsWith("/src/start.tsx"));
        if (app === undefined || !link.test(html)) throw new Error("shell: expected the app's script and a link to its styles");
        return html
          .replace(link, () => `<style>${style.source}</style>\n    <link rel="modulepreload" crossorigin href="./${app.fileName}">`)
          .replace('<div id="root">', (root) => root + renderToStaticMarkup(createElement(Shell)));
      },
    },
  };
}

function styleOf(bundle: OutputBundle): OutputAsset {
  const [style, ...others] = Object.values(bundle).filter((file) => file.fileName.endsWith(".css"));
  if (style?.type !== "asset" || others.length > 0) throw new Error("shell: expected one file of styles");
  return style;
}
