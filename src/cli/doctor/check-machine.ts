import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { findDataDirProblem } from "../../config/check-data-dir.ts";
import type { Config } from "../../config/config.ts";
import { type Finding, ok, problem, warning } from "../../core/finding.ts";
import type { Standbys } from "../../core/ports/administration.ts";
import { describeHearing, type Signals } from "../../core/ports/signals.ts";
import { readRoom } from "../../ground/files/disk-room.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { keptFiles, lockFileName } from "../../store/kept-files.ts";
import { openReadOnly } from "../../store/open-read-only.ts";
import { formerFolder, withKept } from "../../store/with-kept.ts";
import { describeRoom, judgeRoom } from "../../watch/disk.ts";
import type { RelayRun } from "../relay/connect-relay.ts";

/** Always good: with an older Node no command runs (`bin/tocsin.js`). */
export const checkNode = (): Finding => ok("Node", process.versions.node);

/** Silent where all is well: only a faulty installation or a change of Node causes this. */
export async function checkLibrary(): Promise<Finding[]> {
  const { requireDatabaseLibrary } = await import("../../store/sqlite/open-database.ts");
  requireDatabaseLibrary();
  return [];
}

/** Silent without a folder, which PostgreSQL does not need. */
export async function checkDataFolder(_run: RelayRun, { dataDir }: Config): Promise<Finding[]> {
  if (dataDir === undefined) return [];
  const check = "data folder";
  const fault = findDataDirProblem(dataDir);
  if (fault !== undefined) return [problem(check, fault.message, fault.instead)];
  if (!existsSync(dataDir))
    return [warning(check, `${dataDir} does not exist yet`, "it is made when the relay starts: tocsin serve")];
  return [ok(check, dataDir), await checkModes(dataDir), checkDisk(dataDir)];
}

async function checkModes(dataDir: string): Promise<Finding> {
  const secretsDir = join(dataDir, "secrets");
  const paths = [...(await listFiles(dataDir, /^tocsin\.db/)), secretsDir, ...(await listFiles(secretsDir, /./))];
  const modes = await Promise.all(paths.map((path) => stat(path).catch(() => ({ mode: 0 }))));
  const open = paths.filter((_path, index) => ((modes[index]?.mode ?? 0) & 0o077) !== 0);
  if (open.length === 0) return ok("permissions", "database and secrets are closed to other users");
  const detail = `other users of this machine may look into ${open.join(", ")}`;
  return problem("permissions", detail, `chmod -R go= ${dataDir}`);
}

async function listFiles(folder: string, name: RegExp): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((entry) => name.test(entry)).map((entry) => join(folder, entry));
}

function checkDisk(dataDir: string): Finding {
  const room = { full: false, ...readRoom(dataDir) };
  const { level, title, text } = judgeRoom(room);
  if (level === "room") return ok("disk", describeRoom(room));
  return (level === "low" ? warning : problem)("disk", title, text);
}

/** The folder in which alerts wait while PostgreSQL is away. Silent for SQLite, which is never away. */
export async function checkSpool(_run: RelayRun, { databaseUrl, spool }: Config): Promise<Finding[]> {
  if (databaseUrl === undefined) return [];
  const check = "spool";
  if (spool === undefined) {
    const detail =
      "SPOOL_DIR is not set: while PostgreSQL is away senders get 503, and one that never repeats loses the alert";
    return [warning(check, detail, "set it to a folder of this relay's own, on a disk that stays")];
  }
  const { dir, maxBytes } = spool;
  const fault = findDataDirProblem(dir);
  if (fault?.isOfUser)
    return [warning(check, fault.message, "run this as the user of the relay, or give that user the folder")];
  if (fault !== undefined) return [problem(check, fault.message, "set SPOOL_DIR to a folder that can be written")];
  // Loaded here, since the spool needs the library of SQLite, and Doctor must run without it to report its absence.
  const { countSpooled } = await import("../../store/spool/spool-file.ts");
  const { requests, bytes } = countSpooled(dir);
  if (requests === 0) return [ok(check, `${dir} can be written, and nothing waits there`)];
  const room = `${formatBytes(bytes)} of ${formatBytes(maxBytes)}`;
  const detail = `${countOf(requests, "request")} in ${dir} (${room}), which the database has not taken yet, or only just`;
  const mend =
    "it is handed over by a relay with this folder as soon as the database is there; when none runs, start one: tocsin serve";
  return [warning(check, detail, mend)];
}

/** The Date header counts whole seconds. */
const unnoticedSkewMs = 5_000;
/** With more, others may refuse signed requests (Standard Webhooks allows five minutes). */
const harmfulSkewMs = 120_000;

/** Silent without an answer, which the check of the account reports. Half of the round trip is subtracted. */
export async function checkClock({ context }: RelayRun, { upstream, sources }: Config): Promise<Finding[]> {
  const service = upstream.alerting ?? sources.find(({ account }) => account !== undefined)?.account;
  if (service === undefined) return [];
  const startedAt = context.now();
  const answer = await withTimeLimit(5_000, context.signal, ({ signal }) =>
    fetch(service.url, { method: "HEAD", redirect: "manual", signal }),
  ).catch(() => undefined);
  const theirs = Date.parse(answer?.headers.get("date") ?? "");
  if (Number.isNaN(theirs)) return [];
  const skewMs = (startedAt + context.now()) / 2 - (theirs + 500);
  if (Math.abs(skewMs) < unnoticedSkewMs) return [ok("clock", "agrees with the service's")];
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  const detail = `this machine is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the service`;
  const judge = Math.abs(skewMs) < harmfulSkewMs ? warning : problem;
  return [judge("clock", detail, "let the machine set its clock by NTP")];
}

/** Whether PostgreSQL is reachable, in order, of this version, and what a failover would lose. Silent for SQLite. */
export async function checkDatabase(_run: RelayRun, config: Config): Promise<Finding[]> {
  if (config.databaseUrl === undefined) return [];
  const store = await openReadOnly(config);
  try {
    const { bytes } = await store.health();
    const place = databasePlace(config.databaseUrl.reveal());
    const standbys = await store.standbys?.();
    return [
      ok("database", `PostgreSQL ${place}: it commits, ${formatBytes(bytes)}`),
      ...(standbys === undefined ? [] : [failover[standbys]]),
      ...describeSignals(store.hearing?.()),
    ];
  } finally {
    await store.close();
  }
}

const risk = "a failover may lose alerts that were answered in the last moments";
const mendFailover =
  "set synchronous_standby_names on the primary, or accept it; docs/several-relays.md says how (Failover)";

const failover: Record<Standbys, Finding> = {
  synchronous: ok("failover", "commits wait for a standby (synchronous_standby_names)"),
  none: ok("failover", "no standby is connected to the server"),
  asynchronous: warning("failover", `the server has a standby that no commit waits for: ${risk}`, mendFailover),
  unclear: warning(
    "failover",
    "something copies from the server, and no commit waits for it; this user may not see " +
      `whether it is a standby or a backup (pg_read_all_stats could). If it is a standby, ${risk}`,
    mendFailover,
  ),
};

function describeSignals(hearing: ReturnType<NonNullable<Signals["hearing"]>> | undefined): Finding[] {
  if (hearing === undefined) return [];
  const detail = `relays hear of each other ${describeHearing(hearing)}`;
  if (hearing.by === "listen") return [ok("signals", detail)];
  const mend =
    "set DATABASE_LISTEN_URL to an address of the same database that is the server's own, or of a pooler in session mode";
  return [warning("signals", detail, mend)];
}

/** With PostgreSQL the secrets are in the database. Senders that use older ones from a folder are refused. */
export async function checkLeftSecrets(_run: RelayRun, config: Config): Promise<Finding[]> {
  if (config.databaseUrl === undefined) return [];
  const folder = formerFolder(config.dataDir);
  if (config.dataDir === undefined && !existsSync(join(folder, lockFileName))) return [];
  const files = keptFiles(folder);
  const present = (await files.list()).filter(
    (name) => name.startsWith("secrets/") && !name.endsWith(".previous") && !isGiven(name, config),
  );
  if (present.length === 0) return [];
  const [left, used] = await Promise.all([files.read(...present), withKept(config, (kept) => kept.read(...present))]);
  const others = present.filter((_name, index) => left[index]?.trim() !== used[index]?.trim());
  if (others.length === 0) return [];
  const names = others.map((name) => join(folder, name)).join(", ");
  const mend =
    "remove them, or give what senders or people still use to every relay: WEBHOOK_SECRET, ADMIN_TOKEN, secret: of a source";
  return [warning("secrets", `${names}: not what the database has under that name, which is what counts`, mend)];
}

function isGiven(name: string, { webhookSecret, adminToken, sources }: Config): boolean {
  if (name.startsWith("secrets/webhook-secret")) return webhookSecret !== undefined;
  if (name.startsWith("secrets/admin-token")) return adminToken !== undefined;
  return sources.some((one) => name === `secrets/source-${one.name}` && one.secret !== undefined);
}
