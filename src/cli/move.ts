import { resolve } from "node:path";
import { toIso } from "../contract/encode.ts";
import { AppError } from "../core/errors.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";
import { lengthOf } from "../ground/time/ages.ts";
import type { Fact } from "../panels/panel.ts";
import { factsOf, say } from "../panels/sections.ts";
import type { Moved, MoveProgress } from "../store/move-log.ts";
import { command, type GivenOptions, type Run } from "./command.ts";
import { flag, orBare, text } from "./options.ts";
import { readConfig } from "./relay/connect-relay.ts";
import { readLine } from "./shell/confirm.ts";
import type { CliContext } from "./shell/context.ts";
import type { Output } from "./shell/output.ts";

const options = {
  to: orBare(
    text(
      "PostgreSQL to move to: postgres://…, - to read it from standard input, or without a " +
        "value DATABASE_URL; an address on the command line is seen by other users of the machine",
      { of: "address" },
    ),
  ),
  from: orBare(text("PostgreSQL to move from, into a DATA_DIR without a log", { of: "address" })),
  cancel: flag("give up a move that was interrupted: the log stays where it was"),
};

export const move = command({
  name: "move",
  summary: "the log from SQLite to PostgreSQL, and back",
  says: "copy the log from SQLite in DATA_DIR to an empty PostgreSQL, or back, and compare both; with all relays stopped",
  options,
  check({ to, from }) {
    if (to === undefined && from === undefined) return "say where to: --to or --from a PostgreSQL";
    return to === undefined || from === undefined ? undefined : "--to and --from do not go together";
  },
  examples: [
    "DATABASE_URL=postgres://tocsin:…@db.example.com/tocsin tocsin move --to",
    "tocsin move --to - < /etc/tocsin/database-url",
    "tocsin move --from postgres://db.example.com/tocsin",
  ],
  run: moveLog,
});

async function moveLog({ to, from, cancel }: GivenOptions<typeof options>, { context, output }: Run): Promise<void> {
  const { cancelMove, moveFromPostgres, moveToPostgres } = await import("../store/move-log.ts");
  const { databasePlace } = await import("../ground/net/database-place.ts");
  const { now, signal } = context;
  const given = to ?? from;
  const {
    dataDir = resolve(context.cwd, "data"),
    databaseUrl,
    databaseListenUrl = databaseUrl,
  } = await readConfig(context);
  const url = given === true ? databaseListenUrl?.reveal() : given === "-" ? await readLine(context) : given;
  if (url === undefined || url === "")
    throw new AppError("usage", "no PostgreSQL is named", {
      hint: "write its address behind the option, or set DATABASE_URL",
    });
  const place = databasePlace(url) ?? "";
  const how = { dataDir, url, now, signal, onProgress: createProgress(context, output) };
  if (cancel) {
    await cancelMove(how, from === undefined ? "in" : "out");
    const data = { dataDir, database: place, cancelled: true };
    await output.result(data, () =>
      factsOf([
        ["given up", "the move; the log is where it was"],
        ["the log", from === undefined ? `SQLite in ${dataDir}` : `PostgreSQL, ${place}`],
      ]),
    );
    return;
  }
  const startedAt = now();
  const moved = await (from === undefined ? moveToPostgres(how) : moveFromPostgres(how)).catch((error) => {
    if (!signal.aborted) throw error;
    throw new AppError("cancelled", "interrupted; the log is where it was", {
      hint: "run the same command again to continue, or with --cancel to give up",
    });
  });
  const tookMs = now() - startedAt;
  const direction = from === undefined ? "to" : "from";
  const late = moved.late?.map((span) => ({ from: toIso(span.from), to: toIso(span.to) })) ?? [];
  const data = { dataDir, database: place, direction, tookMs, kept: null, ...moved, late };
  const [source, target] = from === undefined ? [dataDir, place] : [place, dataDir];
  await output.result(data, () =>
    factsOf([
      ["moved", `from ${source} to ${target}`],
      ...describeMoved(moved),
      ["took", `${lengthOf(tookMs)}${moved.isResumed ? ", going on where an interrupted run had stopped" : ""}`],
      ...late.map((span) => ["late", describeLate(span)] as const),
      [
        "next",
        from === undefined
          ? say`set DATABASE_URL to that database and start the relay with the same WEBHOOK_SECRET, ADMIN_TOKEN and
            DATA_DIR; then: ${{ code: "tocsin status" }}`
          : say`unset DATABASE_URL, start the relay, then: ${{ code: "tocsin status" }}. It takes up the search index by
            and by; no relay starts on that database any more`,
      ],
    ]),
  );
}

function describeMoved({ tables, waiting, kept }: Moved): Fact[] {
  const rowsOf = (name: string) => tables.find((table) => table.name === name)?.rows ?? 0;
  const of = (name: string, noun: string) => countOf(rowsOf(name), noun);
  return [
    [
      "in it",
      say`${of("alerts", "alert")} in ${of("requests", "request")}, ${rowsOf("deliveries")} deliveries with ${of("attempts", "attempt")}`,
    ],
    [
      "compared",
      tables.some(({ digest }) => digest !== "")
        ? `${tables.length} tables, each row on both sides: the same (--json has the digests)`
        : "by the run before, which was interrupted behind it",
    ],
    ["waiting", waiting === 0 ? "nothing" : say`${waiting}: sent when a relay starts there`],
    ["kept", kept && `${kept}: remove it when nothing of it is missed`],
  ];
}

function describeLate({ from, to }: { from: string; to: string }): string {
  return (
    `alerts of ${from} to ${to} were stored later than others of their time, as from ` +
    "a spool: filters of a time may miss them with SQLite, words and ids find them"
  );
}

/** Without a terminal, a line from time to time shows that it continues. */
const lineEveryMs = 5_000;

/** `copying deliveries: 1,200,000 of 3,600,000 rows, 84,000/s, 29 s left`. */
function createProgress({ isTty, now }: CliContext, output: Output): (progress: MoveProgress) => Promise<void> {
  let began = { step: "", at: 0, done: 0 };
  let toldAt = now();
  return async ({ step, table, done, all }) => {
    const at = now();
    if (step !== began.step) began = { step, at, done };
    if (!isTty.stderr && at - toldAt < lineEveryMs) return;
    toldAt = at;
    const rate = at > began.at ? ((done - began.done) / (at - began.at)) * 1_000 : 0;
    const [count, total, speed] = [done, all, Math.round(rate)].map(groupThousands);
    const left = rate > 0 ? `, ${lengthOf(((all - done) / rate) * 1_000)} left` : "";
    const rows = step === "indexing" ? "" : ` rows, ${speed}/s`;
    const what = table === undefined ? step : `${step} ${table.replaceAll("_", " ")}`;
    const line = `${what}: ${count} of ${total}${rows}${left}`;
    await (isTty.stderr ? output.progress.update(line) : output.note(line));
  };
}
