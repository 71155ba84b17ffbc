/** One refused request that is kept. */
export interface RefusedSize {
  seq: number;
  address: string;
  bytes: number;
}

/** Of one source, so that a flood at one leaves what others have. */
const mostKept = 200;
const mostKeptBytes = 4 * 1024 * 1024;

/**
 * Which of a source's refused requests have to go, see `RefusedLog`: the newest always stays; then the oldest goes of
 * the source that has filled the most.
 * @param rows newest first
 */
export function listOverflow([newest, ...others]: readonly RefusedSize[]): number[] {
  const removed: number[] = [];
  let count = 1 + others.length;
  let total = others.reduce((sum, { bytes }) => sum + bytes, newest?.bytes ?? 0);
  const senders = [...groupByAddress(others).values()];
  while (count > 1 && (count > mostKept || total > mostKeptBytes)) {
    const weigh = (rows: RefusedSize[]) =>
      count > mostKept ? rows.length : rows.reduce((sum, one) => sum + one.bytes, 0);
    const most = senders.reduce((found, one) => (weigh(one) > weigh(found) ? one : found));
    const oldest = most.pop() as RefusedSize;
    if (most.length === 0) senders.splice(senders.indexOf(most), 1);
    removed.push(oldest.seq);
    count -= 1;
    total -= oldest.bytes;
  }
  return removed;
}

function groupByAddress(rows: RefusedSize[]): Map<string, RefusedSize[]> {
  const groups = new Map<string, RefusedSize[]>();
  for (const row of rows) {
    const group = groups.get(row.address);
    if (group === undefined) groups.set(row.address, [row]);
    else group.push(row);
  }
  return groups;
}
