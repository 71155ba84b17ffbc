import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { AppError } from "../core/errors.ts";
import type { Moved, MoveProgress } from "../store/move-log.ts";
import { command, exactlyOne, type Run } from "./command.ts";
import { flag, orBare, text } from "./options.ts";
import { countOf, describeSpan } from "./shell/amounts.ts";
import type { CliContext } from "./shell/context.ts";
import type { Output } from "./shell/output.ts";

/** `tocsin move`: the log from SQLite to PostgreSQL, and back. */
export const move = command({
  name: "move",
  summary: "the log from SQLite to PostgreSQL, and back",
  says: "copy the log from SQLite in DATA_DIR to an empty PostgreSQL, or back, and compare both; with all relays stopped. Interrupted, it goes on when it is run again",
  options: {
    to: orBare(
      text(
        "PostgreSQL to move to: postgres://…, - to read it from standard input, or without a value DATABASE_URL; an address on the command line is seen by other users of the machine",
        { of: "address" },
      ),
    ),
    from: orBare(text("PostgreSQL to move from, into a DATA_DIR without a log", { of: "address" })),
    cancel: flag("give up a move that was interrupted: the log stays where it was"),
  },
  check: exactlyOne(["to", "from"], "say where to: --to or --from a PostgreSQL"),
  examples: [
    "DATABASE_URL=postgres://tocsin:…@db.example.com/tocsin tocsin move --to",
    "tocsin move --to - < /etc/tocsin/database-url",
    "tocsin move --from postgres://db.example.com/tocsin",
  ],
  run: moveLog,
});

interface MoveFlags {
  /** An address, `-` for standard input, or `true`: that of DATABASE_URL. */
  to?: string | true;
  from?: string | true;
  cancel?: boolean;
}

async function moveLog(flags: MoveFlags, { context, output }: Run): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { cancelMove, moveFromPostgres, moveToPostgres } = await import("../store/move-log.ts");
  const { databasePlace } = await import("../ground/net/database-place.ts");
  const given = flags.to ?? flags.from;
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const { dataDir = resolve(context.cwd, "data"), databaseUrl, databaseListenUrl = databaseUrl } = config;
  const url = given === true ? databaseListenUrl?.reveal() : given === "-" ? await readLine(context) : given;
  if (url === undefined || url === "")
    throw new AppError("usage", "no PostgreSQL is named", {
      hint: "write its address behind the option, or set DATABASE_URL",
    });
  const place = databasePlace(url) ?? "";
  const direction = flags.from === undefined ? "in" : "out";
  const options = {
    dataDir,
    url,
    now: context.now,
    signal: context.signal,
    onProgress: createProgress(context, output),
  };
  if (flags.cancel) {
    await cancelMove(options, direction);
    const holder = direction === "in" ? `SQLite in ${dataDir}` : `PostgreSQL, ${place}`;
    await output.result({ dataDir, database: place, cancelled: true }, () =>
      output.fields([
        ["given up", "the move; the log is where it was"],
        ["the log", holder],
      ]),
    );
    return;
  }
  const startedAt = context.now();
  const moved = await (direction === "in" ? moveToPostgres(options) : moveFromPostgres(options)).catch((error) => {
    if (!context.signal.aborted) throw error;
    throw new AppError("cancelled", "interrupted; the log is where it was", {
      hint: "run the same command again to go on, or with --cancel to give up",
    });
  });
  const tookMs = context.now() - startedAt;
  const data = {
    dataDir,
    database: place,
    direction: direction === "in" ? "to" : "from",
    tookMs,
    kept: null,
    ...moved,
    late: moved.late?.map(({ from, to }) => ({ from: toIso(from), to: toIso(to) })) ?? [],
  };
  await output.result(data, () => describe(output, moved, { dataDir, place, tookMs, direction }));
}

function describe(
  output: Output,
  { tables, waiting, isResumed, kept, late = [] }: Moved,
  { dataDir, place, tookMs, direction }: { dataDir: string; place: string; tookMs: number; direction: "in" | "out" },
): string {
  const counts = new Map(tables.map(({ name, rows }) => [name, rows]));
  const of = (name: string, noun: string) => countOf(counts.get(name) ?? 0, noun);
  const isCompared = tables.some(({ digest }) => digest !== "");
  const to = direction === "in";
  return output.fields([
    ["moved", to ? `from ${dataDir} to ${place}` : `from ${place} to ${dataDir}`],
    [
      "in it",
      `${of("alerts", "alert")} in ${of("requests", "request")}, ${(counts.get("deliveries") ?? 0).toLocaleString("en-US")} deliveries with ${of("attempts", "attempt")}`,
    ],
    [
      "compared",
      isCompared
        ? `${tables.length} tables, each row on both sides: the same (--json has the digests)`
        : "by the run before, which was interrupted behind it",
    ],
    ["took", `${describeSpan(tookMs)}${isResumed ? ", going on where an interrupted run had stopped" : ""}`],
    ["waiting", waiting === 0 ? "nothing" : `${waiting.toLocaleString("en-US")}: sent when a relay starts there`],
    ...(kept === undefined ? [] : [["kept", `${kept}: remove it when nothing of it is missed`] as [string, string]]),
    ...late.map(({ from, to }): [string, string] => [
      "late",
      `alerts of ${toIso(from)} to ${toIso(to)} were stored later than others of their time, as from a spool: filters of a time may miss them with SQLite, words and ids find them`,
    ]),
    [
      "next",
      to
        ? `set DATABASE_URL to that database and start the relay with the same WEBHOOK_SECRET, ADMIN_TOKEN and DATA_DIR; then: tocsin status`
        : "unset DATABASE_URL, start the relay, then: tocsin status. It takes up the search index by and by; no relay starts on that database any more",
    ],
  ]);
}

const toIso = (at: number) => new Date(at).toISOString();

async function readLine({ stdin, signal }: CliContext): Promise<string> {
  const lines = createInterface({ input: stdin });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("line", (line) => resolve(line.trim())).once("close", () => resolve(""));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  } finally {
    lines.close();
  }
}

/** Where nobody looks at a terminal a line now and then says that it goes on. */
const lineEveryMs = 5_000;

/** `copying deliveries: 1,200,000 of 3,600,000 rows, 84,000/s, 29 s left`. */
function createProgress({ isTty, now }: CliContext, output: Output): (progress: MoveProgress) => Promise<void> {
  let step = "";
  let began = { at: 0, done: 0 };
  let toldAt = now();
  return async (progress) => {
    const at = now();
    if (progress.step !== step) {
      step = progress.step;
      began = { at, done: progress.done };
    }
    const seconds = (at - began.at) / 1_000;
    const rate = seconds > 0 ? (progress.done - began.done) / seconds : 0;
    const leftMs = rate > 0 ? ((progress.all - progress.done) / rate) * 1_000 : undefined;
    if (isTty.stderr) return output.progress.update(describeProgress(progress, rate, leftMs));
    if (at - toldAt < lineEveryMs) return;
    toldAt = at;
    const data = {
      ...progress,
      rowsPerSecond: Math.round(rate),
      leftMs: leftMs === undefined ? null : Math.round(leftMs),
    };
    await output.note(output.json ? JSON.stringify({ progress: data }) : describeProgress(progress, rate, leftMs));
  };
}

function describeProgress({ step, table, done, all }: MoveProgress, rate: number, leftMs: number | undefined): string {
  const [count, total] = [done, all].map((number) => number.toLocaleString("en-US"));
  const left = leftMs === undefined ? "" : `, ${describeSpan(leftMs)} left`;
  if (step === "indexing") return `indexing: ${count} of ${total}${left}`;
  return `${step} ${table?.replaceAll("_", " ")}: ${count} of ${total} rows, ${Math.round(rate).toLocaleString("en-US")}/s${left}`;
}
