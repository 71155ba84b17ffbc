export interface Span {
  from: number;
  to: number;
}

const mostLooked = 20_000;

/** Finds words of a search in a text, in order and without overlap: at the beginnings of words, or anywhere. */
export function findHits(text: string, hits: readonly string[], isAnywhere = false): Span[] {
  const lower = text.slice(0, mostLooked).toLowerCase();
  // Where lower case changes the length, places would be wrong.
  if (lower.length !== Math.min(text.length, mostLooked)) return [];
  const found: Span[] = [];
  for (const hit of hits) {
    const wanted = hit.toLowerCase();
    if (wanted === "") continue;
    for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, at + wanted.length)) {
      if (isAnywhere || !/[\p{L}\p{N}]/u.test(lower[at - 1] ?? " ")) found.push({ from: at, to: at + wanted.length });
    }
  }
  found.sort((one, other) => one.from - other.from || other.to - one.to);
  let end = 0;
  return found.filter(({ from, to }) => {
    if (from < end) return false;
    end = to;
    return true;
  });
}

/** The text around a hit, short enough for a row. */
export function snippetOf(text: string, { from, to }: Span): string {
  const start = Math.max(0, from - 40);
  const end = Math.min(text.length, to + 60);
  const words = text.slice(start, end).replace(/\s/g, " ").toWellFormed();
  return `${start > 0 ? "…" : ""}${words}${end < text.length ? "…" : ""}`;
}

export function Marked({ text, hits, isAnywhere }: { text: string; hits: readonly string[]; isAnywhere?: boolean }) {
  const found = hits.length === 0 ? [] : findHits(text, hits, isAnywhere);
  if (found.length === 0) return <>{text}</>;
  return (
    <>
      {found.map(({ from, to }, index) => (
        <>
          {text.slice(found[index - 1]?.to ?? 0, from)}
          <mark>{text.slice(from, to)}</mark>
        </>
      ))}
      {text.slice(found.at(-1)?.to)}
    </>
  );
}
