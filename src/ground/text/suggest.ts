/** The known word that was probably meant: at most `mostEdits` edits away, or in another case. */
export function suggest(word: string, known: readonly string[], mostEdits = 3): string | undefined {
  const wanted = simplify(word);
  const allowed = Math.min(allowedEdits(wanted), mostEdits);
  let best: { name: string; distance: number } | undefined;
  for (const name of known) {
    const candidate = simplify(name);
    // There are at least as many edits as the difference in length. Tested first: a start compares each environment
    // variable with all names.
    if (Math.abs(candidate.length - wanted.length) > allowed) continue;
    const distance = countEdits(wanted, candidate);
    if (distance <= allowed && (best === undefined || distance < best.distance)) {
      best = { name, distance };
    }
  }
  return best?.name;
}

/** `did you mean chatId?`, or the list of known words. */
export function suggestOrList(word: string, known: readonly string[]): string {
  const near = suggest(word, known);
  if (near !== undefined) return `did you mean ${near}?`;
  return known.length === 0 ? "there is none" : `known here: ${known.join(", ")}`;
}

function simplify(word: string): string {
  return word.slice(0, 64).toLowerCase().replace(/[-_ ]/g, "");
}

function allowedEdits(word: string): number {
  if (word.length <= 3) return 1;
  return word.length <= 6 ? 2 : 3;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours count one each. */
function countEdits(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const change = a[row - 1] === b[column - 1] ? 0 : 1;
      let edits = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + change);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
