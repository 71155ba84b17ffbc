import type { Database, Statement } from "better-sqlite3";

export type Row = unknown[];

/** The positions after `after` and before `before`. `before` absent: to the end. */
export interface UnreadPositions {
  after: number;
  before?: number;
}

/** A table whose rows have a position of their own, `seq`, as their first column. */
export interface PositionReader {
  /** The rows after a position, in order. */
  behind: Statement<[number], Row>;
  /** The rows between two positions, the last one first. */
  downwards: Statement<[number, number], Row>;
  at: Statement<[number], Row>;
}

/** Gives the readable rows of a table, and returns where rows could not be read. `{}` for a table without positions. */
export type Rescue = (take: (row: Row) => void) => Partial<UnreadPositions>[];

/** @throws SQLite's error for a damaged list of tables. */
export function prepareRescue(
  source: Database,
  { name, columns, key }: { name: string; columns: string[]; key: string[] },
): Rescue {
  const prepare = <Given extends number[]>(behind: string) =>
    source.prepare<Given, Row>(`SELECT ${columns.join(", ")} FROM ${name} ${behind}`).raw();
  if (columns[0] !== "seq") {
    const upwards = prepare<[]>(`ORDER BY ${key.join(", ")}`);
    const downwards = prepare<[]>(`ORDER BY ${key.map((column) => `${column} DESC`).join(", ")}`);
    return (take) => {
      if (takeAll(upwards, take)) return [];
      // The rows between two damaged pages are not read.
      takeAll(downwards, take);
      return [{}];
    };
  }
  const reader: PositionReader = {
    behind: prepare("NOT INDEXED WHERE seq > ? ORDER BY seq"),
    downwards: prepare("NOT INDEXED WHERE seq > ? AND seq <= ? ORDER BY seq DESC"),
    at: prepare("NOT INDEXED WHERE seq = ?"),
  };
  return (take) => rescueByPosition(reader, take);
}

/** Undefined for every error that SQLite or its library has for a damaged page, text or number. */
function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The rows up to the first unreadable one. Returns whether it reached the end. */
function* readOn(begin: () => IterableIterator<Row>): Generator<Row, boolean> {
  const rows = unlessDamaged(begin);
  for (;;) {
    const next = rows && unlessDamaged(() => rows.next());
    if (next === undefined) return false;
    if (next.done === true) return true;
    yield next.value;
  }
}

function takeAll(statement: Statement<[], Row>, take: (row: Row) => void): boolean {
  const rows = readOn(() => statement.iterate());
  for (;;) {
    const next = rows.next();
    if (next.done === true) return next.value;
    take(next.value);
  }
}

/** Positions that are asked one by one where a range cannot be read: some seconds. */
const mostAskedAlone = 200_000;
/** Positions that are asked after the last readable row: more than one interior page covers. */
const mostAskedInVain = 20_000;
/** No log has this many rows: a higher position is damaged. */
const mostPositions = 2 ** 40;

/**
 * Reads all rows around the unreadable ones. After a damaged page the first readable position is searched, and those in between
 * are asked one by one. A row out of order has a damaged position. It is given last, so that it takes no other row's place.
 */
export function rescueByPosition(reader: PositionReader, take: (row: Row) => void): UnreadPositions[] {
  const unread: UnreadPositions[] = [];
  const misplaced: Row[] = [];
  const lose = (after: number, before?: number) => {
    if (before === undefined || before > after + 1) unread.push({ after, before });
  };
  let last = 0;
  for (;;) {
    const run = readRun(reader, last, { take, lose, misplaced });
    last = run.last;
    if (run.isEnd) break;
    const next = firstReadable(reader, last);
    const until = Math.min(next ?? Number.POSITIVE_INFINITY, last + mostAskedAlone);
    // A damaged cell hides the later cells of its page. Reading backwards gives them.
    const fromBelow = new Map<unknown, Row>();
    for (const row of readOn(() => reader.downwards.iterate(last, next ?? mostPositions))) {
      if (fromBelow.size === mostAskedInVain) break;
      fromBelow.set(row[0], row);
    }
    let known = last;
    for (let position = last + 1; position <= until; position += 1) {
      if (next === undefined && position - known > mostAskedInVain) break;
      const row = unlessDamaged(() => reader.at.get(position)) ?? fromBelow.get(position);
      if (row === undefined) continue;
      take(row);
      lose(known, position);
      known = position;
    }
    if (next === undefined) {
      lose(known);
      break;
    }
    lose(known, next + 1);
    last = next;
  }
  for (const row of misplaced) take(row);
  return unread;
}

interface Run {
  take(row: Row): void;
  lose(after: number, before: number): void;
  misplaced: Row[];
}

/** Takes the rows after `last` up to an unreadable one. If a row is not in its place, rows between its neighbours were lost. */
function readRun(reader: PositionReader, last: number, { take, lose, misplaced }: Run) {
  const rows = readOn(() => reader.behind.iterate(last));
  let waiting: { row: Row; position: number; misplacedBehind?: number } | undefined;
  let misplacedBehind: number | undefined;
  const settle = () => {
    if (waiting === undefined) return;
    take(waiting.row);
    if (waiting.misplacedBehind !== undefined) lose(waiting.misplacedBehind, waiting.position);
    last = waiting.position;
  };
  for (;;) {
    const next = rows.next();
    if (next.done === true) {
      settle();
      return { last, isEnd: next.value };
    }
    const position = Number(next.value[0]);
    if (position <= last || position > mostPositions) {
      misplaced.push(next.value);
      misplacedBehind ??= waiting?.position ?? last;
      continue;
    }
    if (waiting !== undefined && position <= waiting.position) {
      misplaced.push(waiting.row);
      misplacedBehind = last;
    } else settle();
    waiting = { row: next.value, position, misplacedBehind };
    misplacedBehind = undefined;
  }
}

/** The first position after which a row, or the end, can be read again. */
function firstReadable({ behind }: PositionReader, after: number): number | undefined {
  const canRead = (position: number) => unlessDamaged(() => ({ row: behind.get(position) })) !== undefined;
  let step = 1;
  while (!canRead(after + step)) {
    step *= 2;
    if (step > mostPositions) return undefined;
  }
  let [bad, good] = [after + Math.floor(step / 2), after + step];
  while (good - bad > 1) {
    const middle = Math.floor((bad + good) / 2);
    if (canRead(middle)) good = middle;
    else bad = middle;
  }
  return good;
}
