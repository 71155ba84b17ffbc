import { constants, existsSync } from "node:fs";
import { access, readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import type { Signals } from "../../core/ports/signals.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { keptFiles, lockFileName } from "../../store/kept-files.ts";
import { formerFolder, withKept } from "../../store/with-kept.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { openReadOnly } from "../relay/open-read-only.ts";
import { type Finding, toFinding } from "./finding.ts";

/** Below the first the relay may stop taking alerts soon; below the second somebody should plan. */
const leastFreeBytes = 100 * 1024 * 1024;
const comfortableFreeBytes = 1024 * 1024 * 1024;

/** Where the log is in PostgreSQL: reached, in order, and of this version. Silent for SQLite, whose folder is looked at. */
export async function checkDatabase(_run: RelayRun, config: Config): Promise<Finding[]> {
  if (config.databaseUrl === undefined) return [];
  const check = "database";
  const place = `PostgreSQL ${databasePlace(config.databaseUrl.reveal())}`;
  try {
    const store = await openReadOnly(config);
    try {
      const { bytes } = await store.health();
      return [
        { check, verdict: "ok", detail: `${place}: it commits, ${formatBytes(bytes)}` },
        ...describeHearing(store.hearing?.()),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [toFinding(check, error)];
  }
}

function describeHearing(hearing: ReturnType<NonNullable<Signals["hearing"]>> | undefined): Finding[] {
  if (hearing === undefined) return [];
  const check = "signals";
  const way = hearing.isPooled ? ", while the rest goes through a pooler" : "";
  if (hearing.by === "listen")
    return [{ check, verdict: "ok", detail: `relays hear each other at once (LISTEN)${way}` }];
  const detail = `relays hear of each other only by looking, every two seconds, and of deliveries every five (${hearing.why})`;
  const mend =
    "set DATABASE_LISTEN_URL to an address of the same database that is the server's own, or of a pooler in session mode";
  return [{ check, verdict: "warning", detail, mend }];
}

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
  const { bavail, bsize } = await statfs(dataDir);
  const detail = `${formatBytes(bavail * bsize)} free`;
  if (bavail * bsize >= comfortableFreeBytes) return { check, verdict: "ok", detail };
  const verdict = bavail * bsize < leastFreeBytes ? "problem" : "warning";
  return {
    check,
    verdict,
    detail,
    mend: "free space or enlarge the volume; on a full disk new alerts are refused",
  };
}

/**
 * With PostgreSQL the secrets that were made are in the database, and what a folder has of before counts no more: who sends by its
 * address is refused. Silent where they are the same, and where the database cannot be read, which is said elsewhere.
 */
export async function checkLeftSecrets(_run: RelayRun, config: Config): Promise<Finding[]> {
  if (config.databaseUrl === undefined) return [];
  const folder = formerFolder(config.dataDir);
  if (config.dataDir === undefined && !existsSync(join(folder, lockFileName))) return [];
  const files = keptFiles(folder);
  try {
    const names = (await files.list()).filter((name) => name.startsWith("secrets/") && !isGiven(name, config));
    const present = names.filter((name) => !name.endsWith(".previous"));
    if (present.length === 0) return [];
    const [left, used] = await Promise.all([files.read(...present), withKept(config, (kept) => kept.read(...present))]);
    const others = present.filter((_name, index) => left[index]?.trim() !== used[index]?.trim());
    if (others.length === 0) return [];
    const detail = `${others.map((name) => join(folder, name)).join(", ")}: not what the database has under that name, which is what counts`;
    const mend =
      "remove them; or, where senders or people still use what is in them, give that to every relay: WEBHOOK_SECRET, ADMIN_TOKEN, secret: of a source";
    return [{ check: "secrets", verdict: "warning", detail, mend }];
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

function isGiven(name: string, { webhookSecret, adminToken, sources }: Config): boolean {
  if (name.startsWith("secrets/webhook-secret")) return webhookSecret !== undefined;
  if (name.startsWith("secrets/admin-token")) return adminToken !== undefined;
  const source = sources.find((one) => name === `secrets/source-${one.name}`);
  return source?.secret !== undefined;
}
