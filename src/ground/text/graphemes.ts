let segmenter: Intl.Segmenter | undefined;

/** Characters as a reader sees them. V8 takes 13 ms to make the first segmenter, so it waits for a text that needs it. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}
/** Looked at on each side of a cut. Longer clusters exist only in hostile text, and are cut between code points. */
const windowUnits = 64;

/** The last place at or before `index` (UTF-16 units) where no character, as a reader sees it, is cut in two. */
export function boundaryBefore(text: string, index: number): number {
  if (index >= text.length) return text.length;
  if (index <= 0) return 0;
  const from = codePointStart(text, Math.max(0, index - windowUnits));
  const cluster = graphemesOf(text.slice(from, index + windowUnits)).containing(index - from);
  const startsInWindow = cluster !== undefined && (cluster.index > 0 || from === 0);
  return startsInWindow ? from + cluster.index : codePointStart(text, index);
}

/** The longest beginning of at most `maxUnits` UTF-16 units that ends between two characters. */
export function clip(text: string, maxUnits: number): string {
  return text.slice(0, boundaryBefore(text, maxUnits));
}

/** As `clip`, with an ellipsis in place of what is missing. */
export function cut(text: string, maxUnits: number): string {
  return text.length <= maxUnits ? text : `${clip(text, maxUnits - 1).trimEnd()}…`;
}

/** Where the code point that `index` falls into begins: the last resort, as nothing may divide a surrogate pair. */
export function codePointStart(text: string, index: number): number {
  const low = text.charCodeAt(index);
  const high = text.charCodeAt(index - 1);
  const splitsPair = low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff;
  return splitsPair ? index - 1 : index;
}
