import { constants } from "node:fs";
import { access, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { readRoom } from "../../ground/files/disk-room.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import type { Finding } from "./finding.ts";

/** Below the first the relay may stop taking alerts soon; below the second somebody should plan. */
const leastFreeBytes = 100 * 1024 * 1024;
const comfortableFreeBytes = 1024 * 1024 * 1024;

/**
 * The folder of the database and the secrets: there, writable, closed to others, and with room. Silent where there is none: with
 * PostgreSQL it is not needed.
 */
export async function checkDataFolder(_run: RelayRun, { dataDir }: Config): Promise<Finding[]> {
  if (dataDir === undefined) return [];
  const check = "data folder";
  const isThere = await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? "unknown",
  );
  if (isThere === "ENOENT") {
    const detail = `${dataDir} does not exist yet`;
    return [{ check, verdict: "warning", detail, mend: "it is made when the relay starts: tocsin serve" }];
  }
  if (isThere !== undefined) {
    const detail = `${dataDir} cannot be read and written by this user (${isThere})`;
    return [
      {
        check,
        verdict: "problem",
        detail,
        mend: "run this as the user of the relay, or give that user the folder",
      },
    ];
  }
  return [{ check, verdict: "ok", detail: dataDir }, ...(await checkModes(dataDir)), await checkRoom(dataDir)];
}

async function checkModes(dataDir: string): Promise<Finding[]> {
  const check = "permissions";
  const secretsDir = join(dataDir, "secrets");
  const paths = [...(await listFiles(dataDir, /^tocsin\.db/)), secretsDir, ...(await listFiles(secretsDir, /./))];
  const open: string[] = [];
  for (const path of paths) {
    const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
    if ((mode & 0o077) !== 0) open.push(path);
  }
  if (open.length === 0) return [{ check, verdict: "ok", detail: "database and secrets are closed to other users" }];
  const detail = `other users of this machine may look into ${open.join(", ")}`;
  return [{ check, verdict: "problem", detail, mend: `chmod -R go= ${dataDir}` }];
}

async function listFiles(folder: string, name: RegExp): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((entry) => name.test(entry)).map((entry) => join(folder, entry));
}

async function checkRoom(dataDir: string): Promise<Finding> {
  const check = "disk";
  const { freeBytes } = readRoom(dataDir);
  const detail = `${formatBytes(freeBytes)} free`;
  if (freeBytes >= comfortableFreeBytes) return { check, verdict: "ok", detail };
  const verdict = freeBytes < leastFreeBytes ? "problem" : "warning";
  return {
    check,
    verdict,
    detail,
    mend: "free space or enlarge the volume; on a full disk new alerts are refused",
  };
}
