import { AppError } from "../core/errors.ts";

/** Why a walk ended. `refused`: the service would not give the page after the last one (400 or 404), taken as its way to say so. */
export type WalkEnd = "empty" | "repeated" | "refused" | "limit";

export interface Page<T> {
  number: number;
  items: T[];
}

export interface WalkOptions {
  /** The interface does not say whether pages count from 0 or 1. Default 1. */
  firstPage?: number;
  /** Against a service that never ends. Default 10,000. */
  maxPages?: number;
}

/**
 * Reads page after page, one in memory at a time. The interface documents at most 100 items a page and not what comes
 * after the last, so a walk goes on until a page is empty, is refused, or repeats one that was seen (a service that clamps the
 * number, or begins anew). Pages are told apart by the keys of their items, since values move between two requests: one that
 * brings no key beyond those of the first or the last page is a repeat. A page with fewer items than others is no end: "at
 * most" allows it, and stopping there could leave metrics out without a word. Returns why it ended.
 */
export async function* walkPages<T>(
  readPage: (number: number) => Promise<T[]>,
  keyOf: (item: T) => string,
  options: WalkOptions = {},
): AsyncGenerator<Page<T>, WalkEnd> {
  const { firstPage = 1, maxPages = 10_000 } = options;
  let firstKeys: Set<string> | undefined;
  let lastKeys: Set<string> | undefined;
  for (let number = firstPage; number < firstPage + maxPages; number += 1) {
    const items = number === firstPage ? await readPage(number) : await readFurtherPage(readPage, number);
    if (items === undefined) return "refused";
    if (items.length === 0) return "empty";
    const keys = new Set(items.map(keyOf));
    if (isWithin(keys, firstKeys) || isWithin(keys, lastKeys)) return "repeated";
    firstKeys ??= keys;
    lastKeys = keys;
    yield { number, items };
  }
  return "limit";
}

async function readFurtherPage<T>(
  readPage: (number: number) => Promise<T[]>,
  number: number,
): Promise<T[] | undefined> {
  try {
    return await readPage(number);
  } catch (error) {
    if (error instanceof AppError && ["upstream_not_found", "upstream_rejected"].includes(error.code))
      return undefined;
    throw error;
  }
}

function isWithin(keys: Set<string>, others: Set<string> | undefined): boolean {
  return others !== undefined && [...keys].every((key) => others.has(key));
}
