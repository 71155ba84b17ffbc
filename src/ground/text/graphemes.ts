let segmenter: Intl.Segmenter | undefined;

/** Characters as a reader sees them. V8 takes 13 ms to make the first segmenter, so it is made when needed. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}
/** How much text on each side of a cut is looked at. Longer clusters exist only in hostile text. */
const windowUnits = 64;

/** The last place at or before `index` (UTF-16 units) between two visible characters. */
export function boundaryBefore(text: string, index: number): number {
  if (index >= text.length) return text.length;
  if (index <= 0) return 0;
  const from = codePointStart(text, Math.max(0, index - windowUnits));
  const cluster = graphemesOf(text.slice(from, index + windowUnits)).containing(index - from);
  const startsInWindow = cluster !== undefined && (cluster.index > 0 || from === 0);
  return startsInWindow ? from + cluster.index : codePointStart(text, index);
}

/** The longest beginning of at most `maxUnits` UTF-16 units, whole characters only. */
export function clip(text: string, maxUnits: number): string {
  return text.slice(0, boundaryBefore(text, maxUnits));
}

/** Like `clip`, with an ellipsis for the rest. */
export function cut(text: string, maxUnits: number): string {
  return text.length <= maxUnits ? text : `${clip(text, maxUnits - 1).trimEnd()}…`;
}

/** The beginning of the code point at `index`. At least a surrogate pair must stay whole. */
export function codePointStart(text: string, index: number): number {
  const low = text.charCodeAt(index);
  const high = text.charCodeAt(index - 1);
  const splitsPair = low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff;
  return splitsPair ? index - 1 : index;
}
