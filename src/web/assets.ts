import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Hono } from "hono";
import { AppError } from "../core/errors.ts";
import { packFile, takesGzip } from "./compress.ts";
import type { WebEnv } from "./web-env.ts";

export type Assets = ReturnType<typeof loadAssets>;

const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", svg: "image/svg+xml" } as const;

export function loadAssets() {
  const style = toAsset("page", "css", read("page.css"));
  const script = toAsset("page", "js", readScript());
  const icon = toAsset("icon", "svg", read("icon.svg"));
  const byFile = new Map([style, script, icon].map((asset) => [asset.path.slice("/assets/".length), asset]));
  return {
    style: style.path,
    script: script.path,
    icon: icon.path,
    /** Finds by the name in the address: `page-1a2b3c4d.css`. */
    find: (file: string) => byFile.get(file),
  };
}

const oneYearS = 365 * 24 * 60 * 60;

export function addAssets(app: Hono<WebEnv>, assets: Assets): void {
  app.get("/assets/:file", (c) => {
    const asset = assets.find(c.req.param("file"));
    if (asset === undefined) throw new AppError("not_found", "There is no such file.");
    const isPacked = takesGzip(c.req.header("accept-encoding"));
    return c.body(isPacked ? asset.packed : asset.content, 200, {
      ...(isPacked && { "content-encoding": "gzip" }),
      vary: "accept-encoding",
      "content-type": asset.contentType,
      "cache-control": `public, max-age=${oneYearS}, immutable`,
    });
  });
}

/** The build compiles the script. Code that runs from `src`, such as tests, takes the script of the last build. */
function readScript(): string {
  const isBuilt = !import.meta.url.endsWith(".ts");
  const folder = isBuilt ? new URL("./assets/", import.meta.url) : new URL("../../dist/web/assets/", import.meta.url);
  return readFileSync(new URL("page.js", folder), "utf8");
}

function read(file: string): string {
  return readFileSync(new URL(`./assets/${file}`, import.meta.url), "utf8");
}

/** The name changes with the content, so browsers may keep the file for good. */
function toAsset(name: string, extension: keyof typeof types, content: string) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  return {
    path: `/assets/${name}-${hash}.${extension}`,
    contentType: types[extension],
    content,
    packed: packFile(content),
  };
}
