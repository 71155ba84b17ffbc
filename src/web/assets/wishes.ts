/** What this browser keeps of a reader's wishes; some keep nothing, and then it holds until the page is left. */
const wishes = new Map<string, string>();

export function wish(name: string): string | undefined {
  try {
    return localStorage.getItem(`tocsin.${name}`) ?? wishes.get(name);
  } catch {
    return wishes.get(name);
  }
}

/** @param text undefined: it is no wish any more */
export function keepWish(name: string, text: string | undefined): void {
  if (text === undefined) wishes.delete(name);
  else wishes.set(name, text);
  try {
    if (text === undefined) localStorage.removeItem(`tocsin.${name}`);
    else localStorage.setItem(`tocsin.${name}`, text);
  } catch {
    // As said above.
  }
}
