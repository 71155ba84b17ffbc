import { randomUUID } from "node:crypto";
import { chmod, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { KeptRecords, RecordChange } from "../core/ports/kept-records.ts";
import { makePrivateFolder } from "../ground/files/private-folder.ts";
import { createFile, replaceFile } from "../ground/files/replace-file.ts";

const secrets = /^(?:webhook-secret|admin-token|source-.+)(?:\.previous)?$/;
const others = /^(?:registration|outputs-before-setup|setup-run)(?:-.+)?\.json$/;
/** Only one process at a time writes these. Their drafts have a fixed name, so crashes leave one draft at most. */
const ofOneRun = /^(?:outputs-before-setup|setup-run)\b/;

/** In the folder as soon as a relay has run there. */
export const lockFileName = "tocsin.lock";

/** For records whose name begins with `secrets/`. */
export function secretFolder(dataDir: string): string {
  return join(dataDir, "secrets");
}

/** Keeps each record in a file below the data folder: mode 0600 in folders of mode 0700, which it makes. */
export function keptFiles(dataDir: string): KeptRecords {
  const pathOf = (name: string) => join(dataDir, name);

  async function write(name: string, text: string | undefined): Promise<void> {
    const path = pathOf(name);
    if (text === undefined) return rm(path, { force: true });
    makePrivateFolder(dirname(path));
    // Two processes may write at once, so each draft has a name of its own.
    await replaceFile(path, text, ofOneRun.test(name) ? `${path}.new` : `${path}.${randomUUID()}.new`);
  }

  /** When two processes replace one file at the same moment, the later one wins, and the first does not notice. */
  async function changeOne({ name, from, to }: RecordChange): Promise<boolean> {
    const path = pathOf(name);
    if (from === undefined && to !== undefined) {
      makePrivateFolder(dirname(path));
      return createFile(path, to);
    }
    if ((await readText(path)) !== from) return false;
    if (from !== to) await write(name, to);
    return true;
  }

  return {
    read: (...names) => Promise.all(names.map((name) => readText(pathOf(name)))),
    async change(changes) {
      for (const change of changes) if (!(await changeOne(change))) return false;
      return true;
    },
    write,
    async list() {
      const inSecrets = (await namesIn(secretFolder(dataDir))).filter(
        (name) => secrets.test(name) && !name.endsWith(".new"),
      );
      const beside = (await namesIn(dataDir)).filter((name) => others.test(name));
      return [...beside, ...inSecrets.map((name) => `secrets/${name}`)].sort();
    },
    placeOf: pathOf,
    async closeToOthers(name) {
      const { mode } = await stat(pathOf(name));
      if ((mode & 0o077) !== 0) await chmod(pathOf(name), 0o600);
    },
  };
}

export async function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(unlessMissing);
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(unlessMissing)) ?? [];
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
