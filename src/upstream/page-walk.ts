import { AppError, type ErrorCode } from "../core/errors.ts";

/** Why a walk ended. `refused`: the service would not give the page after the last one (400 or 404), taken as its way to say so. */
export type WalkEnd = "empty" | "repeated" | "refused" | "limit";

export interface Page<T> {
  number: number;
  items: T[];
}

export interface WalkOptions {
  /** Default: page 0 if there is one, else page 1. The interface does not say from which number pages count. */
  firstPage?: number;
  /** Against a service that never ends. Default 10,000. */
  maxPages?: number;
}

/**
 * Reads page after page, one in memory at a time. Where pages begin is found out: page 1 is asked for, then page 0, which belongs
 * before it unless it is refused, fails, is empty or holds nothing but page 1 again. The interface documents at most 100 items a page and not what comes
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
  const { firstPage, maxPages = 10_000 } = options;
  const keysOf = (items: T[]) => new Set(items.map(keyOf));
  const begun =
    firstPage === undefined
      ? await findFirstPages(readPage, keysOf)
      : [{ number: firstPage, items: await readPage(firstPage) }];
  let number = begun[0]?.number ?? 1;
  let firstKeys: Set<string> | undefined;
  let lastKeys: Set<string> | undefined;
  for (let read = 0; read < maxPages; read += 1, number += 1) {
    const items = begun.shift()?.items ?? (await tryPage(readPage, number, endOfPages));
    if (items === undefined) return "refused";
    if (items.length === 0) return "empty";
    const keys = keysOf(items);
    if (isWithin(keys, firstKeys) || isWithin(keys, lastKeys)) return "repeated";
    firstKeys ??= keys;
    lastKeys = keys;
    yield { number, items };
  }
  return "limit";
}

/** How a service says that there is no such page. */
const endOfPages: readonly ErrorCode[] = ["upstream_not_found", "upstream_rejected"];
/** A service that counts from 1 may compute a negative offset and fail. What is wrong with all pages shows at page 2 as well. */
const noPageZero: readonly ErrorCode[] = [
  ...endOfPages,
  "upstream_failed",
  "upstream_bad_answer",
  "upstream_unauthorized",
  "upstream_forbidden",
];

/** Page 1 first: what is wrong with the request itself shows there, and is not taken for a missing page 0. */
async function findFirstPages<T>(
  readPage: (number: number) => Promise<T[]>,
  keysOf: (items: T[]) => Set<string>,
): Promise<Page<T>[]> {
  const one = { number: 1, items: await readPage(1) };
  const zero = { number: 0, items: (await tryPage(readPage, 0, noPageZero)) ?? [] };
  return isWithin(keysOf(zero.items), keysOf(one.items)) ? [one] : [zero, one];
}

async function tryPage<T>(
  readPage: (number: number) => Promise<T[]>,
  number: number,
  missing: readonly ErrorCode[],
): Promise<T[] | undefined> {
  try {
    return await readPage(number);
  } catch (error) {
    if (error instanceof AppError && missing.includes(error.code)) return undefined;
    throw error;
  }
}

function isWithin(keys: Set<string>, others: Set<string> | undefined): boolean {
  return others !== undefined && [...keys].every((key) => others.has(key));
}
