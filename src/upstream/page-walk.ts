import { AppError, type ErrorCode } from "../core/errors.ts";
import { refusalOf, refusals } from "./refusal.ts";

/**
 * Why a walk ended. `refused`: the service would not give the page after the last one (400 or 404), taken as its way
 * to say so.
 */
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
 * Reads page after page, one in memory at a time. Where pages begin is found out: page 1 is asked for, then page 0,
 * which belongs before it unless it is refused, fails, is empty or is mostly page 1 again. The interface documents at
 * most 100 items a page and not what comes after the last, so a walk goes on until a page is empty, is refused, or
 * repeats one that was seen (a service that clamps the number, or begins anew). Pages are distinguished by the keys
 * of their items, since values move between two requests: one that brings no key beyond those of the first or the
 * last page is a repeat. A page with fewer items than others is no end: "at most" allows it, and stopping there could
 * leave metrics out without a word. Returns why it ended.
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
    const items = begun.shift()?.items ?? (await tryPage(readPage, number, refusals));
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

/**
 * A service that counts from 1 may compute a negative offset and fail. What is wrong with all pages shows at page 2
 * as well.
 */
const noPageZero: readonly ErrorCode[] = [
  ...refusals,
  "upstream_failed",
  "upstream_bad_answer",
  "upstream_unauthorized",
  "upstream_forbidden",
];

/**
 * Page 1 first, which both kinds of service have, but for one that counts from 0 and has a single page: it may refuse
 * page 1. What is wrong with the request itself is refused at both, and reported as page 1 met it.
 */
async function findFirstPages<T>(
  readPage: (number: number) => Promise<T[]>,
  keysOf: (items: T[]) => Set<string>,
): Promise<Page<T>[]> {
  const one = await readPage(1).catch(refusalOf);
  const zero = await tryPage(readPage, 0, noPageZero);
  if (one instanceof AppError) {
    if (zero === undefined) throw one;
    return [{ number: 0, items: zero }];
  }
  const first = { number: 1, items: one };
  return zero === undefined || isMostlyWithin(keysOf(zero), keysOf(one))
    ? [first]
    : [{ number: 0, items: zero }, first];
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

/** As `isWithin`, also where a metric was added between the two requests. */
function isMostlyWithin(keys: Set<string>, others: Set<string>): boolean {
  const shared = [...keys].filter((key) => others.has(key)).length;
  return keys.size === 0 || shared * 2 > keys.size;
}
