import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import type { Standbys } from "../../core/ports/administration.ts";
import { describeHearing, type Signals } from "../../core/ports/signals.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { keptFiles, lockFileName } from "../../store/kept-files.ts";
import { openReadOnly } from "../../store/open-read-only.ts";
import { formerFolder, withKept } from "../../store/with-kept.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { type Finding, ok, warning } from "./finding.ts";

/**
 * Where the log is in PostgreSQL: reached, in order, and of this version; what a failover would lose, and how relays hear of each
 * other. Silent for SQLite, whose folder is looked at.
 */
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
    `something copies from the server, and no commit waits for it; this user may not see whether it is a standby or a backup (pg_read_all_stats could). If it is a standby, ${risk}`,
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

/**
 * With PostgreSQL the secrets that were made are in the database, and what a folder has of before counts no more: who sends by its
 * address is refused. Silent where they are the same.
 */
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
    "remove them; or, where senders or people still use what is in them, give that to every relay: WEBHOOK_SECRET, ADMIN_TOKEN, secret: of a source";
  return [warning("secrets", `${names}: not what the database has under that name, which is what counts`, mend)];
}

function isGiven(name: string, { webhookSecret, adminToken, sources }: Config): boolean {
  if (name.startsWith("secrets/webhook-secret")) return webhookSecret !== undefined;
  if (name.startsWith("secrets/admin-token")) return adminToken !== undefined;
  return sources.some((one) => name === `secrets/source-${one.name}` && one.secret !== undefined);
}
