import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Scope } from "./scope.ts";

/** Two versions of the program. */
export interface Builds {
  /** Of each, the `bin/tocsin.js` that is run. */
  old: string;
  new: string;
  /** How many migrations of PostgreSQL each has now. */
  schemas(): { old: number; new: number };
  /** The newer version gets a migration more, which is made when it next starts. The older one still runs on it. */
  addMigration(): void;
}

const migrations = "dist/store/postgres/migrations";

/** What an additive migration may bring, to tables that all relays read and write at each alert. */
const sqlOfNext = (number: number, oldestCode: number) => `-- Runs with code of ${oldestCode} and newer.
ALTER TABLE alerts ADD COLUMN of_the_next_${number} integer NOT NULL DEFAULT 7;
ALTER TABLE deliveries ADD COLUMN of_the_next_${number} text;
ALTER TABLE lanes ADD COLUMN of_the_next_${number} text;
CREATE TABLE of_the_next_${number} (alert_seq bigint PRIMARY KEY);
CREATE INDEX alerts_of_the_next_${number} ON alerts (of_the_next_${number}) WHERE routed_at IS NULL;
`;

/**
 * An older version, and that of this checkout in a folder of its own.
 *
 * @param older a folder with a built checkout, or a revision that needs the packages of this checkout, which is built here
 */
export function makeBuilds(scope: Scope, older: string): Builds {
  const folder = mkdtempSync(join(tmpdir(), "tocsin-versions-"));
  scope.atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const next = join(folder, "new");
  const old = existsSync(join(older, "dist/bundle/main.js")) ? resolve(older) : buildRevision(older, folder);
  for (const part of ["bin", "dist", "package.json"]) cpSync(part, join(next, part), { recursive: true });
  symlinkSync(resolve("node_modules"), join(next, "node_modules"));
  const schemas = () => ({ old: countMigrations(old), new: countMigrations(next) });
  return {
    old: join(old, "bin/tocsin.js"),
    new: join(next, "bin/tocsin.js"),
    schemas,
    addMigration() {
      const { old: oldestCode, new: known } = schemas();
      const name = `${String(known + 1).padStart(4, "0")}_of_the_next.sql`;
      writeFileSync(join(next, migrations, name), sqlOfNext(known + 1, oldestCode));
    },
  };
}

function buildRevision(revision: string, folder: string): string {
  const lockfile = "package-lock.json";
  if (execFileSync("git", ["show", `${revision}:${lockfile}`]).compare(readFileSync(lockfile)) !== 0)
    throw new Error(
      `${revision} has other packages: clone it, run npm ci && npm run build there, and name that folder with --old`,
    );
  const old = join(folder, "old");
  const archive = join(folder, "old.tar");
  execFileSync("git", ["archive", "--format=tar", "--prefix=old/", `--output=${archive}`, revision]);
  execFileSync("tar", ["-xf", archive, "-C", folder]);
  symlinkSync(resolve("node_modules"), join(old, "node_modules"));
  const build =
    "node_modules/.bin/tsc -p tsconfig.build.json && node scripts/copy-assets.mjs && node scripts/bundle.mjs";
  execFileSync("/bin/sh", ["-c", build], { cwd: old, stdio: ["ignore", "ignore", "inherit"] });
  return old;
}

function countMigrations(folder: string): number {
  const path = join(folder, migrations);
  if (!existsSync(path)) throw new Error("that revision does not know PostgreSQL");
  return readdirSync(path).filter((name) => name.endsWith(".sql")).length;
}
