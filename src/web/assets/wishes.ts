/** The reader's choices, which the browser stores. Without storage they hold until the reader leaves the page. */
const wishes = new Map<string, string>();

export function wish(name: string): string | undefined {
  try {
    return localStorage.getItem(`tocsin.${name}`) ?? wishes.get(name);
  } catch {
    return wishes.get(name);
  }
}

/** @param text undefined removes the choice */
export function keepWish(name: string, text: string | undefined): void {
  if (text === undefined) wishes.delete(name);
  else wishes.set(name, text);
  try {
    if (text === undefined) localStorage.removeItem(`tocsin.${name}`);
    else localStorage.setItem(`tocsin.${name}`, text);
  } catch {
    // Without storage, as above.
  }
}
