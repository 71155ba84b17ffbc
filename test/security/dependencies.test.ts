import { expect, it } from "vitest";
import { readText } from "../docs/documents.ts";

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

type LockedPackage = Partial<Manifest> & { version?: string; hasInstallScript?: boolean };

const manifest = JSON.parse(readText("package.json")) as Manifest;
const { packages } = JSON.parse(readText("package-lock.json")) as { packages: Record<string, LockedPackage> };
/** `npm:name@1.2.3`, a package under another name, is as exact as its version. */
const withoutAlias = (version: string) => version.replace(/^npm:.+@/, "");
const declared = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
const own = Object.fromEntries(Object.entries(declared).map(([name, version]) => [name, withoutAlias(version)]));

/** Item 16. */
it("installs exactly the versions that were tried", () => {
  expect(Object.entries(own).filter(([, version]) => !/^\d+\.\d+\.\d+(-beta\.\d+)?$/.test(version))).toEqual([]);
  const locked = Object.keys(own).map((name) => [name, packages[`node_modules/${name}`]?.version]);
  expect(Object.fromEntries(locked)).toEqual(own);
});

it("lets no package run a script at its installation but the one that compiles", () => {
  const withScript = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
  expect(Object.keys(manifest.allowScripts).sort()).toEqual([...new Set(withScript)].sort());
  const allowed = Object.entries(manifest.allowScripts).filter(([, isAllowed]) => isAllowed);
  expect(allowed).toEqual([["better-sqlite3", true]]);
});
