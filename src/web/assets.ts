import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** A file of the page, under a name that changes with its content, so that browsers may keep it for good. */
interface Asset {
  path: string;
  contentType: string;
  content: string;
}

export interface Assets {
  style: string;
  script: string;
  icon: string;
  /** By the name in the address: `page-1a2b3c4d.css`. */
  find(file: string): Asset | undefined;
}

const types = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
} as const;

/** Reads them once; they lie beside this file, in `src` and in `dist` alike. */
export function loadAssets(): Assets {
  const style = load("page", "css");
  const script = load("page", "js");
  const icon = load("icon", "svg");
  const byFile = new Map([style, script, icon].map((asset) => [asset.path.slice("/assets/".length), asset]));
  return { style: style.path, script: script.path, icon: icon.path, find: (file) => byFile.get(file) };
}

function load(name: string, extension: keyof typeof types): Asset {
  const content = readFileSync(new URL(`./assets/${name}.${extension}`, import.meta.url), "utf8");
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  return { path: `/assets/${name}-${hash}.${extension}`, contentType: types[extension], content };
}
