import { existsSync } from "node:fs";
import { join } from "node:path";
import { findDataDirProblem } from "../../config/check-data-dir.ts";
import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import type { Standbys } from "../../core/ports/administration.ts";
import type { RelayView } from "../../core/ports/relays.ts";
import { describeHearing, type Signals } from "../../core/ports/signals.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { readVersion } from "../../ground/version.ts";
import { judgeRelays, viewRelays } from "../../operations/relays.ts";
import { keptFiles, lockFileName } from "../../store/kept-files.ts";
import { formerFolder, withKept } from "../../store/with-kept.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { openReadOnly } from "../relay/open-read-only.ts";
import { countOf } from "../shell/amounts.ts";
import { describeTrouble } from "./describe-trouble.ts";
import { type Finding, toFinding } from "./finding.ts";

/**
 * Where the log is in PostgreSQL: reached, in order, and of this version; what a failover would lose, how relays hear of each other, and
 * who runs on it. Silent for SQLite, whose folder is looked at.
 */
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
        ...describeStandbys(await store.standbys?.()),
        ...describeSignals(store.hearing?.()),
        ...describeRelays(await store.listRelays(), readVersion()),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [toFinding(check, error)];
  }
}

export function describeStandbys(standbys: Standbys | undefined): Finding[] {
  const check = "failover";
  const risk = "a failover may lose alerts that were answered in the last moments";
  const mend =
    "set synchronous_standby_names on the primary, or accept it; docs/operations.md says how (The log in PostgreSQL, Failover)";
  switch (standbys) {
    case undefined:
      return [];
    case "synchronous":
      return [{ check, verdict: "ok", detail: "commits wait for a standby (synchronous_standby_names)" }];
    case "none":
      return [{ check, verdict: "ok", detail: "no standby is connected to the server" }];
    case "asynchronous":
      return [
        { check, verdict: "warning", detail: `the server has a standby that no commit waits for: ${risk}`, mend },
      ];
    case "unclear": {
      const what = "something copies from the server, and no commit waits for it";
      const why = "this user may not see whether it is a standby or a backup (pg_read_all_stats could)";
      return [{ check, verdict: "warning", detail: `${what}; ${why}. If it is a standby, ${risk}`, mend }];
    }
    default:
      return standbys satisfies never;
  }
}

function describeSignals(hearing: ReturnType<NonNullable<Signals["hearing"]>> | undefined): Finding[] {
  if (hearing === undefined) return [];
  const check = "signals";
  const detail = `relays hear of each other ${describeHearing(hearing)}`;
  if (hearing.by === "listen") return [{ check, verdict: "ok", detail }];
  const mend =
    "set DATABASE_LISTEN_URL to an address of the same database that is the server's own, or of a pooler in session mode";
  return [{ check, verdict: "warning", detail, mend }];
}

/** As each of them has reported some seconds ago. */
export function describeRelays(known: readonly RelayView[], ofCommand: string): Finding[] {
  const check = "relays";
  if (known.length === 0) return [];
  const relays = viewRelays({
    relays: () => known,
    selfId: "",
    laneGroups: () => new Map(),
    dutiesGroup: "",
    isAlone: false,
  });
  const findings: Finding[] = [];
  const warn = (detail: string, mend: string) => void findings.push({ check, verdict: "warning", detail, mend });
  for (const { name, unheardMs } of relays) {
    if (unheardMs === undefined) continue;
    const mend = "see whether it runs; others take over what it does 15 s after its last word";
    warn(`${name} has not been heard of for ${formatDuration(unheardMs)}`, mend);
  }
  const heard = relays.filter(({ unheardMs }) => unheardMs === undefined);
  findings.push(...judgeRelays(heard).map((trouble) => describeTrouble(trouble)));
  const versions = [...new Set(relays.map(({ version }) => version))].sort();
  if (versions.length > 1) {
    const each = versions.map((version) => {
      const names = relays.filter((relay) => relay.version === version).map(({ name }) => name);
      return `${names.join(", ")} ${names.length > 1 ? "run" : "runs"} Tocsin ${version}`;
    });
    warn(each.join("; "), "bring all of them to one version, one after the other");
  } else if (versions[0] !== ofCommand) {
    warn(`they run Tocsin ${versions[0]}, and this command is ${ofCommand}`, "restart them one after the other");
  }
  if (findings.length > 0) return findings;
  const detail = `${countOf(relays.length, "relay")} of Tocsin ${versions[0]}, with the same configuration`;
  return [{ check, verdict: "ok", detail: relays.length > 1 ? detail : `one runs, Tocsin ${versions[0]}` }];
}

/** Where alerts wait while PostgreSQL is away. Silent for SQLite, which is never away. */
export async function checkSpool(_run: RelayRun, { databaseUrl, spool }: Config): Promise<Finding[]> {
  if (databaseUrl === undefined) return [];
  const check = "spool";
  if (spool === undefined) {
    const detail =
      "SPOOL_DIR is not set: while PostgreSQL is away senders get 503, and one that never repeats loses the alert";
    return [
      { check, verdict: "warning", detail, mend: "set it to a folder of this relay's own, on a disk that stays" },
    ];
  }
  const { dir, maxBytes } = spool;
  const problem = findDataDirProblem(dir);
  if (problem !== undefined) {
    const verdict = problem.isOfUser ? "warning" : "problem";
    const mend = problem.isOfUser
      ? "run this as the user of the relay, or give that user the folder"
      : "set SPOOL_DIR to a folder that can be written";
    return [{ check, verdict, detail: problem.message, mend }];
  }
  // It is a database of SQLite's library, without which doctor has to run: it says that the library is missing.
  const { countSpooled } = await import("../../store/spool/spool-table.ts");
  const { requests, bytes } = countSpooled(dir);
  const room = `${formatBytes(bytes)} of ${formatBytes(maxBytes)}`;
  if (requests === 0) return [{ check, verdict: "ok", detail: `${dir} can be written, and nothing waits there` }];
  const detail = `${countOf(requests, "request")} in ${dir} (${room}), which the database has not taken yet, or only just`;
  const mend =
    "it is handed over by a relay with this folder as soon as the database is there; when none runs, start one: tocsin serve";
  return [{ check, verdict: "warning", detail, mend }];
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
