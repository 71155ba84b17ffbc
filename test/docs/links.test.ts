import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { probePaths } from "../../src/http/probes.ts";
import { createWebFixture } from "../support/web-fixture.ts";
import { codeSpans, documentPaths, readText, root, tableRows } from "./documents.ts";

const shipped = [
  ...documentPaths,
  "Dockerfile",
  "fly.toml",
  ".env.example",
  "tocsin.example.yaml",
  "deploy/container.sh",
  "deploy/tocsin.service",
  "deploy/Caddyfile",
];

/** Heading → anchor, as GitHub makes it. */
function anchorsOf(markdown: string): string[] {
  const prose = markdown.replace(/^ *```[\s\S]*?^ *```$/gm, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function brokenLinks(path: string): string[] {
  const links = [...readText(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? path : normalize(join(dirname(path), file));
    if (!existsSync(`${root}${target}`)) return true;
    return anchor !== undefined && !anchorsOf(readText(target)).includes(anchor);
  });
}

test("every relative link of the documents leads somewhere", () => {
  expect(
    [...documentPaths, "CHANGELOG.md"].flatMap((path) => brokenLinks(path).map((link) => `${path}: ${link}`)),
  ).toEqual([]);
});

test("a page is read in one go: it has 15 KB at most", () => {
  expect(documentPaths.filter((path) => Buffer.byteLength(readText(path)) > 15 * 1024)).toEqual([]);
});

test("the README's pictures are PNG files that load fast", () => {
  const pictures = [...readText("README.md").matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path = ""]) => path);
  expect(pictures.length).toBeGreaterThan(0);
  for (const path of pictures) {
    expect(readFileSync(`${root}${path}`).subarray(1, 4).toString("latin1")).toBe("PNG");
    expect(statSync(`${root}${path}`).size).toBeLessThan(100_000);
  }
});

test("what is shipped names no folder of somebody's machine and no package registry", () => {
  const named = /\/(?:wor[k]|root|Users)\/|registry\.\w+|\.npmjs\./;
  expect(shipped.filter((path) => named.test(readText(path)))).toEqual([]);
});

test("the documents name every request of HTTP that a script could use, and no other", async () => {
  const { web } = await createWebFixture();
  const page = readText("docs/reference.md");
  const rows = ["request", "API request"].flatMap((header) => tableRows(page, header));
  const documented = rows.flatMap(([cell = ""]) => codeSpans(cell));
  const known = [...web.routes, ...probePaths.map((path) => `GET ${path}`), "POST /hooks/<secret>"];
  const forScripts = known.filter((route) => /^\w+ \/(api\/|metrics|healthz|readyz)/.test(route));
  expect(documented.filter((request) => !known.includes(request))).toEqual([]);
  expect(forScripts.filter((route) => !documented.includes(route))).toEqual([]);
});
