import type { Database, Statement } from "better-sqlite3";

export type Row = unknown[];

/** Positions behind `after` and before `before` (absent: to the end) could not be read. */
export interface UnreadPositions {
  after: number;
  before?: number;
}

/** A table whose rows have a position of their own, `seq`, as their first column. */
export interface PositionReader {
  /** The rows behind a position, in their order. */
  behind: Statement<[number], Row>;
  /** The rows between two positions, the last first. */
  downwards: Statement<[number, number], Row>;
  /** The row at a position. */
  at: Statement<[number], Row>;
}

/** @throws what SQLite says of a list of tables that is damaged. */
export function preparePositionReader(source: Database, table: string, columns: string[]): PositionReader {
  const select = `SELECT ${columns.join(", ")} FROM ${table} NOT INDEXED`;
  return {
    behind: source.prepare<[number], Row>(`${select} WHERE seq > ? ORDER BY seq`).raw(),
    downwards: source.prepare<[number, number], Row>(`${select} WHERE seq > ? AND seq <= ? ORDER BY seq DESC`).raw(),
    at: source.prepare<[number], Row>(`${select} WHERE seq = ?`).raw(),
  };
}

/** A table without positions, read from both ends. */
export interface KeyReader {
  upwards: Statement<[], Row>;
  downwards: Statement<[], Row>;
}

/** @throws what SQLite says of a list of tables that is damaged. */
export function prepareKeyReader(source: Database, table: string, columns: string[], key: string[]): KeyReader {
  const select = `SELECT ${columns.join(", ")} FROM ${table} ORDER BY`;
  return {
    upwards: source.prepare<[], Row>(`${select} ${key.join(", ")}`).raw(),
    downwards: source.prepare<[], Row>(`${select} ${key.map((name) => `${name} DESC`).join(", ")}`).raw(),
  };
}

/** Whatever SQLite or its library says of a damaged page, text or number: it was not read. */
function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The rows up to the first that cannot be read; returns whether it came to the end. */
function* readOn(begin: () => IterableIterator<Row>): Generator<Row, boolean> {
  const rows = unlessDamaged(begin);
  for (;;) {
    const next = rows && unlessDamaged(() => rows.next());
    if (next === undefined) return false;
    if (next.done === true) return true;
    yield next.value;
  }
}

/** @returns whether all of it was read. Rows between two damaged pages are not. */
export function rescueByKey({ upwards, downwards }: KeyReader, take: (row: Row) => void): boolean {
  const takeAll = (statement: Statement<[], Row>): boolean => {
    const rows = readOn(() => statement.iterate());
    for (;;) {
      const next = rows.next();
      if (next.done === true) return next.value;
      take(next.value);
    }
  };
  if (takeAll(upwards)) return true;
  takeAll(downwards);
  return false;
}

/** So many positions are asked for one by one where a range cannot be read: some seconds. */
const mostAskedAlone = 200_000;
/** Where nothing behind can be read, so many behind the last one that could: more than one page that lists pages leads to. */
const mostAskedInVain = 20_000;
/** No log has so many rows: a position above it was damaged. */
const mostPositions = 2 ** 40;

/**
 * Goes round what cannot be read. A page holds rows of neighbouring positions: the first readable position behind it is
 * found by searching, and those that were jumped over are asked for one by one, since some of their pages may be whole.
 *
 * Rows are in the order of their positions; one that is not has a damaged position. It is given last, to `takeMisplaced`,
 * so that it takes no other row's place.
 */
export function rescueByPosition(
  reader: PositionReader,
  take: (row: Row) => void,
  takeMisplaced: (row: Row) => void,
): UnreadPositions[] {
  const unread: UnreadPositions[] = [];
  const misplaced: Row[] = [];
  const lose = (after: number, before?: number) => {
    if (before === undefined || before > after + 1) unread.push({ after, before });
  };
  let last = 0;
  for (;;) {
    const run = readRun(reader, last, take, misplaced);
    last = run.last;
    if (run.isEnd) break;
    const next = firstReadable(reader, last);
    const until = Math.min(next ?? Number.POSITIVE_INFINITY, last + mostAskedAlone);
    // A damaged cell hides those behind it in its page, but not from below.
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
  for (const row of misplaced) takeMisplaced(row);
  return unread;
}

/** Takes the rows behind `last` up to the end or to what cannot be read. One row waits until the next says whether it is in its place. */
function readRun(reader: PositionReader, last: number, take: (row: Row) => void, misplaced: Row[]) {
  const rows = readOn(() => reader.behind.iterate(last));
  let waiting: { row: Row; position: number } | undefined;
  const settle = () => {
    if (waiting === undefined) return;
    take(waiting.row);
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
      continue;
    }
    if (waiting !== undefined && position <= waiting.position) misplaced.push(waiting.row);
    else settle();
    waiting = { row: next.value, position };
  }
}

/** The first position behind which something can be read again, or the end. */
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
