const shownCharacters = 80;

/** A sender's value inside a sentence of ours: on one line, at most 80 characters, quoted when it is not one word. */
export function quoteValue(value: string): string {
  const line = value
    .slice(0, 4 * shownCharacters)
    .replace(/\s+/g, " ")
    .trim();
  const clipped = Array.from(line).slice(0, shownCharacters).join("");
  const shown = clipped.length < line.length || value.length > 4 * shownCharacters ? `${clipped}…` : clipped;
  return /^[^\s,;“”]+$/.test(shown) ? shown : `“${shown}”`;
}
